// A Gazebo 11 world plugin that lets another process drive the physics, one step at a time.
//
// It connects to the Unix socket that the world's SDF names and obeys it. A request is a header of
// two little-endian 32-bit numbers, operation and length of the body in bytes; the answer is the
// length of its body, then the body.
//
//   STEP     double dt, then for each vehicle force xyz and torque xyz about its centre of gravity,
//            world frame  ->  for each vehicle position xyz, quaternion xyzw, velocity xyz of the
//            centre of gravity in the world, angular velocity xyz in the body frame (doubles)
//   RESET    for each vehicle position xyz and quaternion xyzw  ->  as STEP; at rest, at time 0
//   FLEET    names of the vehicles, a line each  ->  text: empty, or what is wrong
//   CONTACTS ->  text: a line "name<TAB>name" for each pair of models that touch
//   SPAWN    SDF of one model  ->  text: empty, or what is wrong, once the model is there
//   DELETE   name of a model  ->  text, likewise, once it is gone
//
// While steps follow each other closely they are done in Gazebo's own world loop, which costs no
// change of threads. When the other side is quiet for a moment the world is paused, and a thread
// of ours waits for it: Gazebo then serves its topics, gzclient and the gz tools as ever.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gazebo/common/common.hh>
#include <gazebo/physics/physics.hh>

namespace xtdrone {

using Clock = std::chrono::steady_clock;

enum Operation : std::uint32_t { STEP = 1, RESET, FLEET, CONTACTS, SPAWN, DELETE };

constexpr int kQuietMs = 10;           // without a request for this long, the world is paused
constexpr int kChangeSeconds = 10;     // that a model may take to appear or to go
constexpr std::size_t kState = 13;     // numbers of one vehicle's state
constexpr std::uint32_t kLongest = 1u << 26;

struct Closed : std::runtime_error {
  Closed() : std::runtime_error("the simulation closed its socket") {}
};

class LockstepWorld : public gazebo::WorldPlugin {
 public:
  ~LockstepWorld() override {
    begin_.reset();
    end_.reset();
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (waiter_.joinable()) waiter_.join();
    if (socket_ >= 0) ::close(socket_);
  }

  void Load(gazebo::physics::WorldPtr world, sdf::ElementPtr sdf) override {
    world_ = world;
    Connect(sdf->Get<std::string>("socket"));
    // Contacts are kept also when nobody listens to Gazebo's topic of them.
    world_->Physics()->GetContactManager()->SetNeverDropContacts(true);
    world_->SetPaused(true);
    begin_ = gazebo::event::Events::ConnectWorldUpdateBegin(
        [this](const gazebo::common::UpdateInfo &) { Apply(); });
    end_ = gazebo::event::Events::ConnectWorldUpdateEnd([this] { Ended(); });
    waiting_ = true;
    waiter_ = std::thread([this] { Wait(); });
  }

 private:
  void Connect(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
      throw std::runtime_error("no usable <socket> for the lockstep plugin");
    std::strcpy(address.sun_path, path.c_str());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
      throw std::runtime_error("nobody listens on the socket " + path);
  }

  // Reading and writing ------------------------------------------------------------------------

  void Read(void *data, std::size_t size) {
    auto *at = static_cast<char *>(data);
    while (size > 0) {
      const ssize_t got = ::recv(socket_, at, size, 0);
      if (got == 0 || (got < 0 && errno != EINTR)) throw Closed();
      if (got > 0) {
        at += got;
        size -= static_cast<std::size_t>(got);
      }
    }
  }

  void Write(const void *data, std::size_t size) {
    const auto *at = static_cast<const char *>(data);
    while (size > 0) {
      const ssize_t sent = ::send(socket_, at, size, MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) throw Closed();
      if (sent > 0) {
        at += sent;
        size -= static_cast<std::size_t>(sent);
      }
    }
  }

  void Answer(const void *data, std::size_t size) {
    answer_.resize(sizeof(std::uint32_t) + size);
    const auto length = static_cast<std::uint32_t>(size);
    std::memcpy(answer_.data(), &length, sizeof(length));
    if (size > 0) std::memcpy(answer_.data() + sizeof(length), data, size);
    Write(answer_.data(), answer_.size());
  }

  void Answer(const std::string &text) { Answer(text.data(), text.size()); }

  // Reads one request and does it; true where it is a step, which the world loop has to do.
  bool Serve() {
    std::uint32_t header[2];
    Read(header, sizeof(header));
    if (header[1] > kLongest) throw Closed();
    body_.resize(header[1]);
    Read(body_.data(), body_.size());
    const std::string text(body_.begin(), body_.end());
    switch (header[0]) {
      case STEP: {
        const std::size_t wanted = sizeof(double) * (1 + 6 * fleet_.size());
        if (body_.size() != wanted) throw Closed();
        double dt;
        std::memcpy(&dt, body_.data(), sizeof(dt));
        wrench_.resize(6 * fleet_.size());
        std::memcpy(wrench_.data(), body_.data() + sizeof(dt), body_.size() - sizeof(dt));
        if (dt != world_->Physics()->GetMaxStepSize()) world_->Physics()->SetMaxStepSize(dt);
        due_ = true;
        return true;
      }
      case RESET: Reset(); break;
      case FLEET: Answer(Name(text)); break;
      case CONTACTS: Answer(Contacts()); break;
      case SPAWN: Answer(Spawn(text)); break;
      case DELETE: Answer(Delete(text)); break;
      default: throw Closed();
    }
    return false;
  }

  // The world loop -----------------------------------------------------------------------------

  void Apply() {
    if (!due_) return;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const double *w = &wrench_[6 * i];
      fleet_[i]->AddForce({w[0], w[1], w[2]});
      fleet_[i]->AddTorque({w[3], w[4], w[5]});
    }
  }

  void Ended() {
    if (!due_) return;
    due_ = false;
    try {
      SendState();
      pollfd ready{socket_, POLLIN, 0};
      while (::poll(&ready, 1, kQuietMs) > 0 && !NeedsWorldLoop()) {
        if (Serve()) return;
      }
    } catch (const Closed &) {
      Quit();
    }
    world_->SetPaused(true);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_ = true;
    }
    changed_.notify_all();
  }

  // Whether the next request is about models that come and go, which Gazebo does in its own loop.
  bool NeedsWorldLoop() const {
    std::uint32_t header[2];
    if (::recv(socket_, header, sizeof(header), MSG_PEEK | MSG_WAITALL) != sizeof(header))
      throw Closed();
    return header[0] == SPAWN || header[0] == DELETE;
  }

  // Waits for requests while the world is paused.
  void Wait() {
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
      const ignition::math::Pose3d pose = link->WorldCoGPose();
      const ignition::math::Vector3d vel = link->WorldCoGLinearVel();
      const ignition::math::Vector3d rate =
          pose.Rot().RotateVectorReverse(link->WorldAngularVel());
      const double numbers[kState] = {
          pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z(), pose.Rot().X(), pose.Rot().Y(),
          pose.Rot().Z(), pose.Rot().W(), vel.X(), vel.Y(), vel.Z(), rate.X(), rate.Y(), rate.Z()};
      std::memcpy(s, numbers, sizeof(numbers));
    }
    Answer(state_.data(), state_.size() * sizeof(double));
  }

  void Reset() {
    if (body_.size() != sizeof(double) * 7 * fleet_.size()) throw Closed();
    {
      boost::recursive_mutex::scoped_lock lock(*world_->Physics()->GetPhysicsUpdateMutex());
      std::vector<double> poses(7 * fleet_.size());
      std::memcpy(poses.data(), body_.data(), body_.size());
      for (std::size_t i = 0; i < fleet_.size(); ++i) {
        const double *p = &poses[7 * i];
        fleet_[i]->SetWorldPose({{p[0], p[1], p[2]}, {p[6], p[3], p[4], p[5]}});
        fleet_[i]->ResetPhysicsStates();
      }
      world_->ResetTime();
    }
    SendState();
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
  gazebo::event::ConnectionPtr begin_, end_;
  std::vector<gazebo::physics::LinkPtr> fleet_;
  std::vector<char> body_, answer_;
  std::vector<double> wrench_, state_;
  int socket_ = -1;
  bool due_ = false;  // a step has been asked for and is not done; handed over by SetPaused
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false, stopping_ = false;
  std::thread waiter_;
};

GZ_REGISTER_WORLD_PLUGIN(LockstepWorld)

}  // namespace xtdrone
