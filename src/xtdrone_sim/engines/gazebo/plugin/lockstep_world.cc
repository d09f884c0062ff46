// A Gazebo 11 world plugin that lets another process drive the physics, one step at a time.
//
// It connects to the Unix socket that the world's SDF names and obeys it; see channel.hh for the
// form of requests, and looks.hh for the other socket, for cameras.
//
//   STEP     double dt, then for each vehicle force xyz and torque xyz about its centre of gravity,
//            world frame  ->  for each vehicle position xyz, quaternion xyzw and velocity xyz of
//            its body's frame in the world, angular velocity xyz in the body frame (doubles)
//   RESET    for each vehicle position xyz and quaternion xyzw  ->  as STEP; at rest, at time 0
//   FLEET    names of the vehicles, a line each  ->  text: empty, or what is wrong
//   CONTACTS ->  text: a line "name<TAB>name" for each pair of models that touch
//   SPAWN    SDF of one model  ->  text: empty, or what is wrong, once the model is there
//   DELETE   name of a model  ->  text, likewise, once it is gone
//   PAYLOAD  number of a vehicle, its mass, centre of gravity xyz in the frame of its body, inertia
//            about it xx yy zz xy xz yz (doubles)  ->  nothing; the body's frame moves on as before
//   CAST     number of a vehicle, longest distance, origin xyz, then direction xyz of each ray,
//            unit vectors in the world (doubles)  ->  distance along each ray to the first thing
//            but the vehicle (doubles); inf where there is nothing
//   SCANNERS text, see Scans::Set in rays.hh  ->  nothing; for subscribers of Gazebo's own topics
//
// While steps follow each other closely they are done in Gazebo's own world loop, which costs no
// change of threads. When the other side is quiet for a moment the world is paused, and a thread
// of ours waits for it: Gazebo then serves its topics, gzclient and the gz tools as ever.

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gazebo/common/common.hh>
#include <gazebo/ode/ode.h>
#include <gazebo/physics/physics.hh>
#include <gazebo/physics/ode/ODECollision.hh>

#include "channel.hh"
#include "looks.hh"
#include "rays.hh"

namespace xtdrone {

using Clock = std::chrono::steady_clock;

enum Operation : std::uint32_t {
  STEP = 1, RESET, FLEET, CONTACTS, SPAWN, DELETE, PAYLOAD, CAST, SCANNERS
};

constexpr int kQuietMs = 10;           // without a request for this long, the world is paused
constexpr int kChangeSeconds = 10;     // that a model may take to appear or to go
constexpr std::size_t kState = 13;     // numbers of one vehicle's state

class LockstepWorld : public gazebo::WorldPlugin {
 public:
  ~LockstepWorld() override {
    begin_.reset();
    end_.reset();
    pause_.reset();
    looks_.reset();
    channel_.Shut();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (waiter_.joinable()) waiter_.join();
  }

  void Load(gazebo::physics::WorldPtr world, sdf::ElementPtr sdf) override {
    world_ = world;
    channel_.Connect(sdf->Get<std::string>("socket"));
    looks_ = std::make_unique<Looks>(world, sdf->Get<std::string>("looks"));
    scans_ = std::make_unique<Scans>(world);
    // Contacts are kept also when nobody listens to Gazebo's topic of them.
    world_->Physics()->GetContactManager()->SetNeverDropContacts(true);
    world_->SetPaused(true);
    begin_ = gazebo::event::Events::ConnectWorldUpdateBegin(
        [this](const gazebo::common::UpdateInfo &) { Apply(); });
    end_ = gazebo::event::Events::ConnectWorldUpdateEnd([this] { Ended(); });
    // The simulation alone makes time pass or stand still, not gzclient's button.
    pause_ = gazebo::event::Events::ConnectPause([this](bool paused) {
      if (paused == running_) world_->SetPaused(!running_);
    });
    waiting_ = true;
    waiter_ = std::thread([this] { Wait(); });
  }

 private:
  // Reads one request and does it; true where it is a step, which the world loop has to do.
  bool Serve() {
    const auto operation = channel_.Request();
    const auto &body = channel_.Body();
    switch (operation) {
      case STEP: {
        const std::size_t wanted = sizeof(double) * (1 + 6 * fleet_.size());
        if (body.size() != wanted) throw Closed();
        double dt;
        std::memcpy(&dt, body.data(), sizeof(dt));
        wrench_.resize(6 * fleet_.size());
        std::memcpy(wrench_.data(), body.data() + sizeof(dt), body.size() - sizeof(dt));
        if (dt != world_->Physics()->GetMaxStepSize()) world_->Physics()->SetMaxStepSize(dt);
        due_ = true;
        return true;
      }
      case RESET: Reset(body); break;
      case FLEET: channel_.Answer(Name(channel_.Text())); break;
      case CONTACTS: channel_.Answer(Contacts()); break;
      case SPAWN: channel_.Answer(Spawn(channel_.Text())); break;
      case DELETE: channel_.Answer(Delete(channel_.Text())); break;
      case PAYLOAD: SetMass(body); break;
      case CAST: Measure(body); break;
      case SCANNERS:
        scans_->Set(channel_.Text());
        channel_.Answer("");
        break;
      default: throw Closed();
    }
    return false;
  }

  // The world loop -----------------------------------------------------------------------------

  // A loop that was not asked for, before the world is paused again, moves nothing.
  void Apply() {
    stepping_ = due_;
    world_->SetPhysicsEnabled(stepping_);
    if (!stepping_) return;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const double *w = &wrench_[6 * i];
      fleet_[i]->AddForce({w[0], w[1], w[2]});
      fleet_[i]->AddTorque({w[3], w[4], w[5]});
    }
  }

  void Ended() {
    if (!stepping_) {
      world_->SetSimTime(world_->SimTime() - world_->Physics()->GetMaxStepSize());
      return;
    }
    due_ = false;
    try {
      SendState();
      scans_->Publish();
      pollfd ready{channel_.Descriptor(), POLLIN, 0};
      while (::poll(&ready, 1, kQuietMs) > 0 && !NeedsWorldLoop()) {
        if (Serve()) return;
      }
    } catch (const Closed &) {
      Quit();
    }
    running_ = false;
    world_->SetPaused(true);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_ = true;
    }
    changed_.notify_all();
  }

  // Whether the next request is about models that come and go, which Gazebo does in its own loop.
  bool NeedsWorldLoop() const {
    const auto operation = channel_.Peek();
    return operation == SPAWN || operation == DELETE;
  }

  // Waits for requests while the world is paused.
  void Wait() {
    dAllocateODEDataForThread(dAllocateMaskAll);  // for CAST
    while (true) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return waiting_ || stopping_; });
        if (stopping_) return;
      }
      try {
        while (!Serve()) {}
      } catch (const Closed &) {
        Quit();
        return;
      }
      {
        std::lock_guard<std::mutex> lock(mutex_);
        waiting_ = false;
      }
      running_ = true;
      world_->SetPaused(false);
    }
  }

  // The other side is gone, so this server has no reason to go on.
  static void Quit() { ::kill(::getpid(), SIGTERM); }

  // What the requests do -----------------------------------------------------------------------

  void SendState() {
    state_.resize(kState * fleet_.size());
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      double *s = &state_[kState * i];
      const auto &link = fleet_[i];
      const ignition::math::Pose3d pose = link->WorldPose();
      const ignition::math::Vector3d vel = link->WorldLinearVel();
      const ignition::math::Vector3d rate =
          pose.Rot().RotateVectorReverse(link->WorldAngularVel());
      const double numbers[kState] = {
          pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z(), pose.Rot().X(), pose.Rot().Y(),
          pose.Rot().Z(), pose.Rot().W(), vel.X(), vel.Y(), vel.Z(), rate.X(), rate.Y(), rate.Z()};
      std::memcpy(s, numbers, sizeof(numbers));
    }
    channel_.Answer(state_.data(), state_.size() * sizeof(double));
  }

  void Reset(const std::vector<char> &body) {
    if (body.size() != sizeof(double) * 7 * fleet_.size()) throw Closed();
    {
      boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
      std::vector<double> poses(7 * fleet_.size());
      std::memcpy(poses.data(), body.data(), body.size());
      for (std::size_t i = 0; i < fleet_.size(); ++i) {
        const double *p = &poses[7 * i];
        fleet_[i]->SetWorldPose({{p[0], p[1], p[2]}, {p[6], p[3], p[4], p[5]}});
        fleet_[i]->ResetPhysicsStates();
      }
      world_->ResetTime();
    }
    SendState();
  }

  void SetMass(const std::vector<char> &body) {
    double v[11];
    if (body.size() != sizeof(v)) throw Closed();
    std::memcpy(v, body.data(), sizeof(v));
    const auto &link = fleet_.at(static_cast<std::size_t>(v[0]));
    boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
    const auto pose = link->WorldPose();
    const auto vel = link->WorldLinearVel(), rate = link->WorldAngularVel();
    const ignition::math::Vector3d centre(v[2], v[3], v[4]);
    const auto inertial = link->GetInertial();
    inertial->SetMass(v[1]);
    inertial->SetCoG(centre);
    inertial->SetInertiaMatrix(v[5], v[6], v[7], v[8], v[9], v[10]);
    link->UpdateMass();
    // ODE's bodies lie in their centres of gravity: shapes, place and velocity have to follow.
    for (const auto &collision : link->GetCollisions())
      boost::dynamic_pointer_cast<gazebo::physics::ODECollision>(collision)->OnPoseChange();
    link->SetWorldPose(pose);
    link->SetLinearVel(vel + rate.Cross(pose.Rot().RotateVector(centre)));
    link->SetAngularVel(rate);
    channel_.Answer("");
  }

  void Measure(const std::vector<char> &body) {
    constexpr std::size_t kHead = 5;  // numbers before the directions
    std::vector<double> numbers(body.size() / sizeof(double));
    std::memcpy(numbers.data(), body.data(), numbers.size() * sizeof(double));
    if (numbers.size() < kHead || (numbers.size() - kHead) % 3 != 0) throw Closed();
    const auto own = fleet_.at(static_cast<std::size_t>(numbers[0]))->GetModel()->GetName();
    const auto ranges = Cast(world_, own, numbers[1], &numbers[2], numbers.data() + kHead,
                             (numbers.size() - kHead) / 3);
    channel_.Answer(ranges.data(), ranges.size() * sizeof(double));
  }

  std::string Name(const std::string &text) {
    std::vector<gazebo::physics::LinkPtr> found;
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) {
      const auto model = world_->ModelByName(name);
      if (!model || model->GetLinks().size() != 1)
        return "Gazebo has no model '" + name + "' of one link";
      found.push_back(model->GetLinks().front());
    }
    fleet_ = found;
    return "";
  }

  std::string Contacts() const {
    std::set<std::pair<std::string, std::string>> pairs;
    const auto *manager = world_->Physics()->GetContactManager();
    for (unsigned i = 0; i < manager->GetContactCount(); ++i) {
      const auto *contact = manager->GetContacts()[i];
      std::string a = contact->collision1->GetModel()->GetName();
      std::string b = contact->collision2->GetModel()->GetName();
      if (b < a) std::swap(a, b);
      pairs.emplace(a, b);
    }
    std::string text;
    for (const auto &pair : pairs) text += pair.first + "\t" + pair.second + "\n";
    return text;
  }

  std::string Spawn(const std::string &text) {
    sdf::SDF description;
    description.SetFromString(text);
    const auto model = description.Root()->GetElement("model");
    const auto name = model->Get<std::string>("name");
    if (world_->ModelByName(name)) return "there is a model '" + name + "' already";
    world_->InsertModelString(text);
    return Until([&] { return world_->ModelByName(name) != nullptr; })
               ? "" : "the model '" + name + "' did not appear";
  }

  std::string Delete(const std::string &name) {
    if (!world_->ModelByName(name)) return "there is no model '" + name + "'";
    world_->RemoveModel(name);
    return Until([&] { return world_->ModelByName(name) == nullptr; })
               ? "" : "the model '" + name + "' did not go";
  }

  static bool Until(const std::function<bool()> &done) {
    const auto end = Clock::now() + std::chrono::seconds(kChangeSeconds);
    while (!done()) {
      if (Clock::now() > end) return false;
      gazebo::common::Time::MSleep(1);
    }
    return true;
  }

  gazebo::physics::WorldPtr world_;
  gazebo::event::ConnectionPtr begin_, end_, pause_;
  std::vector<gazebo::physics::LinkPtr> fleet_;
  Channel channel_;
  std::unique_ptr<Looks> looks_;
  std::unique_ptr<Scans> scans_;
  std::vector<double> wrench_, state_;
  std::atomic<bool> due_{false};  // a step has been asked for and is not done
  bool stepping_ = false;         // this loop of the world does it
  std::atomic<bool> running_{false};  // the world is to be not paused
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false, stopping_ = false;
  std::thread waiter_;
};

GZ_REGISTER_WORLD_PLUGIN(LockstepWorld)

}  // namespace xtdrone
