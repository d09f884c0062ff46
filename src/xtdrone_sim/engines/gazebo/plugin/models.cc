#include "models.hh"

#include <cstring>
#include <limits>
#include <memory>
#include <sstream>

namespace xtdrone {

void StateOf(const gazebo::physics::LinkPtr &link, double *state) {
  const ignition::math::Pose3d pose = link->WorldPose();
  const ignition::math::Vector3d vel = link->WorldLinearVel();
  const ignition::math::Vector3d rate = pose.Rot().RotateVectorReverse(link->WorldAngularVel());
  const double numbers[kState] = {
      pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z(), pose.Rot().X(), pose.Rot().Y(),
      pose.Rot().Z(), pose.Rot().W(), vel.X(), vel.Y(), vel.Z(), rate.X(), rate.Y(), rate.Z()};
  std::memcpy(state, numbers, sizeof(numbers));
}

void MoveTo(const gazebo::physics::LinkPtr &link, const double *s) {
  const auto model = link->GetModel();
  const ignition::math::Pose3d pose({s[0], s[1], s[2]}, {s[6], s[3], s[4], s[5]});
  model->SetLinkWorldPose(pose, link);
  if (model->IsStatic()) return;
  const ignition::math::Vector3d vel(s[7], s[8], s[9]);
  const auto rate = pose.Rot().RotateVector({s[10], s[11], s[12]});
  for (const auto &part : model->GetLinks()) {
    part->ResetPhysicsStates();
    // Gazebo's linear velocity is that of the centre of gravity.
    part->SetLinearVel(vel + rate.Cross(part->WorldCoGPose().Pos() - pose.Pos()));
    part->SetAngularVel(rate);
    part->SetEnabled(true);
  }
}

// A model that is removed publishes a request to delete its name, which the world obeys like anybody
// else's, at some later time: a new model of that name would go with it. Requests are answered in
// their order, in the round of the world loop before the one that deletes. So an insertion waits for
// the answers to two more requests, the second made after the first was answered.
constexpr int kRounds = 2;

Models::Models(gazebo::physics::WorldPtr world)
    : world_(std::move(world)), node_(new gazebo::transport::Node()) {
  node_->Init(world_->Name());
  request_ = node_->Advertise<gazebo::msgs::Request>("~/request");
  response_ = node_->Subscribe("~/response", &Models::OnResponse, this);
}

void Models::Insert(const std::string &sdf) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (rounds_ > 0)
    waiting_.push_back(sdf);
  else
    world_->InsertModelString(sdf);
}

void Models::Remove(const std::string &name) {
  if (!world_->ModelByName(name)) return;
  world_->RemoveModel(name);
  Ask(kRounds);
}

void Models::Ask(int rounds) {
  const std::unique_ptr<gazebo::msgs::Request> request(
      gazebo::msgs::CreateRequest("entity_info", ""));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    rounds_ = rounds;
    asked_ = request->id();
  }
  request_->Publish(*request, true);
}

void Models::OnResponse(ConstResponsePtr &response) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (rounds_ == 0 || response->id() != asked_) return;
  if (rounds_ > 1) {
    const int rest = rounds_ - 1;
    lock.unlock();
    return Ask(rest);
  }
  rounds_ = 0;
  for (const auto &sdf : waiting_) world_->InsertModelString(sdf);
  waiting_.clear();
}

std::vector<double> Models::States(const std::string &names) const {
  std::vector<double> states;
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) {
    states.resize(states.size() + kState, std::numeric_limits<double>::quiet_NaN());
    if (const auto body = Body(name)) StateOf(body, &states[states.size() - kState]);
  }
  return states;
}

bool Models::Move(const std::string &name, const double *state) {
  const auto body = Body(name);
  if (!body) return false;
  boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
  MoveTo(body, state);
  return true;
}

void Models::Push(const std::string &name, const double *w) {
  pushed_.push_back({name, {w[0], w[1], w[2]}, {w[3], w[4], w[5]}});
}

void Models::Apply() {
  for (const auto &wrench : pushed_) {
    if (const auto body = Body(wrench.name)) {
      body->AddForce(wrench.force);
      body->AddTorque(wrench.torque);
    }
  }
  pushed_.clear();
}

gazebo::physics::LinkPtr Models::Body(const std::string &name) const {
  const auto model = world_->ModelByName(name);
  return model ? model->GetLink("body") : nullptr;
}

}  // namespace xtdrone
