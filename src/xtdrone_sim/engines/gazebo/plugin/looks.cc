#include "looks.hh"

#include <chrono>
#include <cstdlib>
#include <sstream>

#include <gazebo/common/common.hh>
#include <gazebo/physics/physics.hh>
#include <gazebo/rendering/ogre_gazebo.h>
#include <gazebo/rendering/rendering.hh>
#include <gazebo/sensors/sensors.hh>

namespace xtdrone {

namespace {

constexpr int kReadySeconds = 60;  // that Gazebo may take to load what it draws

ignition::math::Pose3d PoseOf(const double *p) {
  return {{p[0], p[1], p[2]}, {p[6], p[3], p[4], p[5]}};
}

std::string Display() {
  const char *name = std::getenv("DISPLAY");
  return name == nullptr ? "of no name" : name;
}

// Appends an image with its rows in the other order.
void AppendFlipped(std::vector<char> &out, const void *data, std::size_t width, std::size_t rows) {
  const auto *from = static_cast<const char *>(data);
  for (std::size_t row = rows; row-- > 0;)
    out.insert(out.end(), from + row * width, from + (row + 1) * width);
}

}  // namespace

Looks::Looks(gazebo::physics::WorldPtr world, const std::string &path) : world_(world) {
  channel_.Connect(path);
  render_ = gazebo::event::Events::ConnectRender([this] { RunJob(); });
  thread_ = std::thread([this] { Serve(); });
}

Looks::~Looks() {
  render_.reset();
  channel_.Shut();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Looks::Serve() {
  try {
    while (true) {
      const auto operation = channel_.Request();
      const auto &body = channel_.Body();
      if (operation == CAMERAS) {
        channel_.Answer(Find(channel_.Text()));
      } else if (operation == NAME) {
        std::string name;
        InRenderThread([&] {
          name = gazebo::rendering::RenderEngine::Instance()->Root()->getRenderSystem()
                     ->getCapabilities()->getDeviceName();
        });
        channel_.Answer(name);
      } else if (operation == DRAW) {
        Draw draw;
        std::vector<double> poses(7 * bodies_.size());
        if (body.size() != sizeof(draw) + sizeof(double) * poses.size()) throw Closed();
        std::memcpy(&draw, body.data(), sizeof(draw));
        std::memcpy(poses.data(), body.data() + sizeof(draw), sizeof(double) * poses.size());
        if (draw.camera >= cameras_.size() || !cameras_[draw.camera]) throw Closed();
        InRenderThread([&] { Render(draw, poses); });
        channel_.Answer(picture_.data(), picture_.size());
      } else {
        throw Closed();
      }
    }
  } catch (const Closed &) {
    // The simulation ends Gazebo through its other socket.
  }
}

// Finds Gazebo's sensors of the names in text; waits until everything that they can see is there.
std::string Looks::Find(const std::string &text) {
  std::istringstream lines(text);
  std::string line, word;
  std::getline(lines, line);
  std::istringstream first(line);
  bodies_.clear();
  if (!cameras_.empty()) InRenderThread([&] { cameras_.clear(); });
  while (std::getline(first, word, '\t')) bodies_.push_back(word);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kReadySeconds);
  const auto *manager = gazebo::sensors::SensorManager::Instance();
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string vehicle, link, sensor, camera;
    std::getline(words, vehicle, '\t');
    std::getline(words, link, '\t');
    std::getline(words, sensor, '\t');
    std::getline(words, camera, '\t');
    const auto scoped = world_->Name() + "::" + vehicle + "::" + link + "::" + sensor;
    if (gazebo::rendering::RenderEngine::Instance()->GetRenderPathType() ==
        gazebo::rendering::RenderEngine::NONE)
      return "it cannot draw on the display " + Display();
    gazebo::sensors::SensorPtr found;
    while (!(found = manager->GetSensor(scoped))) {
      if (std::chrono::steady_clock::now() > end) return "Gazebo made no sensor '" + scoped + "'";
      gazebo::common::Time::MSleep(10);
    }
    gazebo::rendering::CameraPtr eye;
    if (auto one = std::dynamic_pointer_cast<gazebo::sensors::DepthCameraSensor>(found))
      eye = one->DepthCamera();
    else if (auto one = std::dynamic_pointer_cast<gazebo::sensors::CameraSensor>(found))
      eye = one->Camera();
    else if (auto pair = std::dynamic_pointer_cast<gazebo::sensors::MultiCameraSensor>(found))
      eye = pair->Camera(std::stoul(camera));
    if (!eye) return "Gazebo cannot draw: '" + scoped + "' has no camera";
    cameras_.push_back(eye);
  }
  if (!cameras_.empty()) {
    // A software renderer takes seven times as long with them.
    InRenderThread([&] { gazebo::rendering::get_scene(world_->Name())->SetShadowsEnabled(false); });
  }
  for (std::string missing = "?"; !cameras_.empty() && !missing.empty();) {
    InRenderThread([&] { missing = NotReady(); });
    if (std::chrono::steady_clock::now() > end) return "Gazebo does not draw " + missing;
  }
  return "";
}

// The name of something in the world that is not in the picture yet, or nothing.
std::string Looks::NotReady() const {
  const auto scene = gazebo::rendering::get_scene(world_->Name());
  if (!scene || !scene->Initialized()) return "the scene";
  if (scene->LightCount() < world_->LightCount()) return "the lights";
  for (const auto &model : world_->Models()) {
    for (const auto &link : model->GetLinks()) {
      gazebo::msgs::Link message;
      link->FillMsg(message);
      for (const auto &visual : message.visual())
        if (!scene->GetVisual(visual.name())) return visual.name();
    }
  }
  return "";
}

void Looks::Render(const Draw &draw, const std::vector<double> &poses) {
  const auto scene = gazebo::rendering::get_scene(world_->Name());
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (const auto visual = scene->GetVisual(bodies_[i]))
      visual->SetWorldPose(PoseOf(&poses[7 * i]));
  }
  const auto &camera = cameras_[draw.camera];
  camera->SetWorldPose(PoseOf(draw.pose));
  camera->SetClipDist(static_cast<float>(draw.near), static_cast<float>(draw.far));
  camera->OgreCamera()->setFrustumExtents(draw.near * draw.left, draw.near * draw.right,
                                          draw.near * draw.top, draw.near * draw.bottom);
  camera->SetCaptureData(true);
  camera->Render(true);
  camera->PostRender();
  picture_.clear();
  AppendFlipped(picture_, camera->ImageData(), 3 * camera->ImageWidth(), camera->ImageHeight());
  const auto depth = boost::dynamic_pointer_cast<gazebo::rendering::DepthCamera>(camera);
  if (depth)
    AppendFlipped(picture_, depth->DepthData(), sizeof(float) * camera->ImageWidth(),
                  camera->ImageHeight());
}

// Does a job in Gazebo's main thread and waits for its end.
void Looks::InRenderThread(const std::function<void()> &job) {
  std::unique_lock<std::mutex> lock(mutex_);
  job_ = &job;
  changed_.wait(lock, [this] { return job_ == nullptr || stopping_; });
  if (stopping_) throw Closed();
}

void Looks::RunJob() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (job_ == nullptr) return;
  (*job_)();
  job_ = nullptr;
  changed_.notify_all();
}

}  // namespace xtdrone
