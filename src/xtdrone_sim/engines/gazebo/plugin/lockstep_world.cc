// A Gazebo 11 world plugin that lets another process drive the physics, one step at a time.
//
// It connects to the Unix socket that the world's SDF names and obeys it; see channel.hh for the
// form of requests, and looks.hh for the other socket, for cameras.
//
//   STEP     double dt, then for each body force xyz and torque xyz about its centre of gravity,
//            world frame, then for each joint its target [rad] or [m]  ->  for each body position
//            xyz, quaternion xyzw and velocity xyz of its frame in the world, angular velocity xyz
//            in its frame, then for each joint its place and speed, then for each tyre the normal
//            force xyz of the ground on it, world frame (doubles)
//   RESET    for each body position xyz and quaternion xyzw, NaN for one that stays as it is  ->
//            as STEP; the others are at rest, and where none stays the clock is back at 0
//   FLEET    bodies of the vehicles, a line "vehicle<TAB>link" each  ->  text: empty, or what is
//            wrong
//   JOINTS   likewise the joints that have targets, a line "vehicle<TAB>joint" each
//   TYRES    likewise the collisions of wheels, a line "vehicle<TAB>collision" each
//   CONTACTS ->  text: a line "name<TAB>name<TAB>x<TAB>y<TAB>z" for each surface at which two models
//            touch: its normal, from the first to the second, world
//   PAYLOAD  number of a body, its mass, centre of gravity xyz in the frame of its body, inertia
//            about it xx yy zz xy xz yz (doubles)  ->  nothing; the body's frame moves on as before
//   CAST     number of a body, longest distance, origin xyz, then direction xyz of each ray,
//            unit vectors in the world (doubles)  ->  distance along each ray to the first thing
//            but its vehicle (doubles); inf where there is nothing
//   SCANNERS text, see Scans::Set in rays.hh  ->  nothing; for subscribers of Gazebo's own topics
//   PLACE    number of a body and its state (doubles)  ->  as STEP; its whole vehicle moves there
//   INSERT   SDF text of a model, see models.hh  ->  nothing
//   REMOVE   its name  ->  nothing
//   STATES   names of models, a line each  ->  state of each (doubles), NaN for one that is not there
//   MOVE     state (doubles), then the name of a model  ->  text: empty, or what is wrong
//   PUSH     force xyz and torque xyz (doubles), then the name  ->  nothing; for the next step
//
// While steps follow each other closely they are done in Gazebo's own world loop, which costs no
// change of threads. When the other side is quiet for a moment the world is paused, and a thread
// of ours waits for it: Gazebo then serves its topics, gzclient and the gz tools as ever.

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <condition_variable>
#include <map>
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
#include "models.hh"
#include "rays.hh"

namespace xtdrone {

enum Operation : std::uint32_t {
  STEP = 1, RESET, FLEET, JOINTS, CONTACTS, PAYLOAD, CAST, SCANNERS, PLACE, INSERT, REMOVE, STATES,
  MOVE, PUSH, TYRES
};

constexpr int kQuietMs = 10;           // without a request for this long, the world is paused
constexpr double kStrong = 1e6;        // force of a driven joint [N] or [N m]: follows anything

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
    models_ = std::make_unique<Models>(world);
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
        const std::size_t count = 6 * fleet_.size() + joints_.size();
        if (body.size() != sizeof(double) * (1 + count)) throw Closed();
        double dt;
        std::memcpy(&dt, body.data(), sizeof(dt));
        wrench_.resize(count);
        std::memcpy(wrench_.data(), body.data() + sizeof(dt), body.size() - sizeof(dt));
        if (dt != world_->Physics()->GetMaxStepSize()) world_->Physics()->SetMaxStepSize(dt);
        due_ = true;
        return true;
      }
      case RESET: Reset(body); break;
      case FLEET: channel_.Answer(Name(channel_.Text())); break;
      case JOINTS: channel_.Answer(Drive(channel_.Text())); break;
      case TYRES: channel_.Answer(Load(channel_.Text())); break;
      case CONTACTS: channel_.Answer(Contacts()); break;
      case PAYLOAD: SetMass(body); break;
      case CAST: Measure(body); break;
      case SCANNERS:
        scans_->Set(channel_.Text());
        channel_.Answer("");
        break;
      case PLACE: Place(body); break;
      case INSERT:
        models_->Insert(channel_.Text());
        channel_.Answer("");
        break;
      case REMOVE:
        models_->Remove(channel_.Text());
        channel_.Answer("");
        break;
      case STATES: {
        const auto states = models_->States(channel_.Text());
        channel_.Answer(states.data(), states.size() * sizeof(double));
        break;
      }
      case MOVE: {
        double state[kState];
        const auto name = NameAfter(state, kState);
        channel_.Answer(models_->Move(name, state) ? "" : "there is no model '" + name + "'");
        break;
      }
      case PUSH: {
        double wrench[6];
        models_->Push(NameAfter(wrench, 6), wrench);
        channel_.Answer("");
        break;
      }
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
    models_->Apply();
    // ODE's joint motor gives the joint this speed by the end of the step, which ends at the target.
    const double dt = world_->Physics()->GetMaxStepSize();
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      const double target = wrench_[6 * fleet_.size() + i];
      joints_[i]->SetParam("fmax", 0, kStrong);
      joints_[i]->SetParam("vel", 0, (target - joints_[i]->Position(0)) / dt);
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
      while (::poll(&ready, 1, kQuietMs) > 0) {
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
    state_.assign(kState * fleet_.size() + 2 * joints_.size() + 3 * tyres_.size(), 0.0);
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      StateOf(fleet_[i], &state_[kState * i]);
    }
    double *s = state_.data() + kState * fleet_.size();
    for (const auto &joint : joints_) {
      *s++ = joint->Position(0);
      *s++ = joint->GetVelocity(0);
    }
    if (!tyres_.empty()) AddLoads(s);
    channel_.Answer(state_.data(), state_.size() * sizeof(double));
  }

  void Reset(const std::vector<char> &body) {
    if (body.size() != sizeof(double) * 7 * fleet_.size()) throw Closed();
    {
      boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
      std::vector<double> poses(7 * fleet_.size());
      std::memcpy(poses.data(), body.data(), body.size());
      bool all = true;
      for (std::size_t i = 0; i < fleet_.size(); ++i) {
        const double *p = &poses[7 * i];
        if (std::isnan(p[0])) {
          all = false;
          continue;
        }
        fleet_[i]->SetWorldPose({{p[0], p[1], p[2]}, {p[6], p[3], p[4], p[5]}});
        fleet_[i]->ResetPhysicsStates();
      }
      if (all) world_->ResetTime();
    }
    SendState();
  }

  void Place(const std::vector<char> &body) {
    double v[1 + kState];
    if (body.size() != sizeof(v)) throw Closed();
    std::memcpy(v, body.data(), sizeof(v));
    {
      boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
      MoveTo(fleet_.at(static_cast<std::size_t>(v[0])), v + 1);
    }
    SendState();
  }

  // Reads numbers at the front of a request; gives the text behind them.
  std::string NameAfter(double *numbers, std::size_t count) const {
    const auto &body = channel_.Body();
    if (body.size() < count * sizeof(double)) throw Closed();
    std::memcpy(numbers, body.data(), count * sizeof(double));
    return {body.begin() + static_cast<std::ptrdiff_t>(count * sizeof(double)), body.end()};
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
    const auto wrong = EachPair(text, [&](const auto &model, const std::string &name) {
      const auto link = model->GetLink(name);
      if (link) found.push_back(link);
      return link != nullptr;
    });
    if (wrong.empty()) fleet_ = found;
    return wrong;
  }

  std::string Drive(const std::string &text) {
    std::vector<gazebo::physics::JointPtr> found;
    const auto wrong = EachPair(text, [&](const auto &model, const std::string &name) {
      const auto joint = model->GetJoint(name);
      if (joint) found.push_back(joint);
      return joint != nullptr;
    });
    if (wrong.empty()) joints_ = found;
    return wrong;
  }

  std::string Load(const std::string &text) {
    std::map<const gazebo::physics::Collision *, std::size_t> found;
    const auto wrong = EachPair(text, [&](const auto &model, const auto &name) {
      for (const auto &link : model->GetLinks()) {
        const auto tyre = link->GetCollision(name);
        if (tyre) return found.emplace(tyre.get(), found.size()).second;
      }
      return false;
    });
    if (wrong.empty()) tyres_ = found;
    return wrong;
  }

  // Adds up the forces along the normals of the contacts of each tyre.
  void AddLoads(double *loads) const {
    const auto *manager = world_->Physics()->GetContactManager();
    for (unsigned i = 0; i < manager->GetContactCount(); ++i) {
      const auto *contact = manager->GetContacts()[i];
      for (const auto *side : {contact->collision1, contact->collision2}) {
        const auto tyre = tyres_.find(side);
        if (tyre == tyres_.end()) continue;
        const auto turn = side->GetLink()->WorldPose().Rot();
        for (int k = 0; k < contact->count; ++k) {
          const auto &wrench = contact->wrench[k];
          const auto force = turn.RotateVector(
              side == contact->collision1 ? wrench.body1Force : wrench.body2Force);
          const auto load = contact->normals[k] * force.Dot(contact->normals[k]);
          for (int axis = 0; axis < 3; ++axis) loads[3 * tyre->second + axis] += load[axis];
        }
      }
    }
  }

  // Goes through lines "model<TAB>part"; gives what Gazebo does not have, or nothing.
  template <typename Take>
  std::string EachPair(const std::string &text, const Take &take) const {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto tab = line.find('\t');
      const auto model = world_->ModelByName(line.substr(0, tab));
      if (!model || tab == std::string::npos || !take(model, line.substr(tab + 1)))
        return "Gazebo has no '" + line.substr(tab + 1) + "' in model '" + line.substr(0, tab) + "'";
    }
    return "";
  }

  std::string Contacts() const {
    std::set<std::string> lines;
    const auto *manager = world_->Physics()->GetContactManager();
    for (unsigned i = 0; i < manager->GetContactCount(); ++i) {
      const auto *contact = manager->GetContacts()[i];
      std::string a = contact->collision1->GetModel()->GetName();
      std::string b = contact->collision2->GetModel()->GetName();
      if (a == b) continue;
      double sign = -1.0;  // ODE's normals point from the second to the first
      if (b < a) {
        std::swap(a, b);
        sign = 1.0;
      }
      for (int k = 0; k < contact->count; ++k) {
        const auto normal = sign * contact->normals[k];
        char numbers[64];
        std::snprintf(numbers, sizeof(numbers), "\t%.3f\t%.3f\t%.3f\n", normal.X(), normal.Y(),
                      normal.Z());
        lines.insert(a + "\t" + b + numbers);
      }
    }
    std::string text;
    for (const auto &line : lines) text += line;
    return text;
  }

  gazebo::physics::WorldPtr world_;
  gazebo::event::ConnectionPtr begin_, end_, pause_;
  std::vector<gazebo::physics::LinkPtr> fleet_;    // all bodies of all vehicles
  std::vector<gazebo::physics::JointPtr> joints_;  // that are driven
  std::map<const gazebo::physics::Collision *, std::size_t> tyres_;  // and their numbers
  Channel channel_;
  std::unique_ptr<Looks> looks_;
  std::unique_ptr<Scans> scans_;
  std::unique_ptr<Models> models_;
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
