// What the vehicles' cameras see, drawn by Gazebo when the simulation asks.
//
// The cameras are Gazebo's own, made from the SDF. They are left inactive, so that Gazebo does not
// draw for them at times of its own choice; whoever subscribes to one of Gazebo's image topics
// wakes that sensor, which does not disturb ours. Requests come over a socket of their own, see
// channel.hh:
//
//   CAMERAS  text: a line of names of bodies in the picture, "vehicle" for its base and
//            "vehicle::link" for others, then for each camera a line "vehicle<TAB>link<TAB>sensor
//            <TAB>number of the camera in it"  ->  text: empty once all can be drawn, or what is
//            wrong
//   NAME     ->  text: what draws
//   DRAW     a Draw (below), then for each body position xyz and quaternion xyzw (doubles)  ->  the image, 3 bytes a pixel, the lowest row first; then, for
//            a depth camera, float distances along the optical axis, likewise
//
// Drawing is done in Gazebo's main thread, which owns the OpenGL context, beside the physics.

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gazebo/common/Event.hh>
#include <gazebo/physics/PhysicsTypes.hh>
#include <gazebo/rendering/RenderTypes.hh>

#include "channel.hh"

namespace xtdrone {

class Looks {
 public:
  // Connects to the socket at path and serves it until the other side closes.
  Looks(gazebo::physics::WorldPtr world, const std::string &path);
  ~Looks();

 private:
  enum Operation : std::uint32_t { CAMERAS = 1, NAME, DRAW };

  struct Draw {
    std::uint64_t camera;                   // its number in CAMERAS
    double left, right, bottom, top;        // of the image, at unit distance; y up
    double near, far;                       // [m]
    double pose[7];                         // of the camera in the world, x forward
  };

  void Serve();
  std::string Find(const std::string &text);
  std::string NotReady() const;
  void Render(const Draw &draw, const std::vector<double> &poses);
  void InRenderThread(const std::function<void()> &job);
  void RunJob();

  gazebo::physics::WorldPtr world_;
  Channel channel_;
  std::vector<std::string> bodies_;
  std::vector<gazebo::rendering::CameraPtr> cameras_;
  std::vector<char> picture_;
  gazebo::event::ConnectionPtr render_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()> *job_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace xtdrone
