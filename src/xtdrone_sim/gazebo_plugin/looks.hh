// What the vehicles' cameras and lidars see, drawn and measured by Gazebo when the simulation asks.
//
// The cameras are Gazebo's own, made from the SDF. They are left inactive, so that Gazebo does not
// draw for them at times of its own choice; whoever subscribes to one of Gazebo's image topics
// wakes that sensor, which does not disturb ours. Rays are cast in the physics by ODE itself:
// Gazebo's ray sensor takes 10 us and more for each ray. Requests come over a socket of their own,
// see channel.hh:
//
//   CAMERAS  text: a line of vehicles, then for each camera a line "vehicle<TAB>sensor<TAB>number
//            of the camera in it"  ->  text: empty once all can be drawn, or what is wrong
//   NAME     ->  text: what draws
//   DRAW     a Draw (below), then for each vehicle position xyz and quaternion xyzw of its centre
//            of gravity (doubles)  ->  the image, 3 bytes a pixel, the lowest row first; then, for
//            a depth camera, float distances along the optical axis, likewise
//   SCAN     number of a vehicle, longest distance, origin xyz, then direction xyz of each ray,
//            unit vectors in the world (doubles)  ->  distance along each ray (doubles); inf where
//            there is nothing. Rays meet bodies where the physics has them now, but not the vehicle.
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
  enum Operation : std::uint32_t { CAMERAS = 1, NAME, DRAW, SCAN };

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
  void Scan(const std::vector<char> &body);
  void InRenderThread(const std::function<void()> &job);
  void RunJob();

  gazebo::physics::WorldPtr world_;
  Channel channel_;
  std::vector<std::string> vehicles_;
  std::vector<gazebo::rendering::CameraPtr> cameras_;
  std::vector<char> picture_;
  std::vector<double> ranges_;
  gazebo::event::ConnectionPtr render_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()> *job_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace xtdrone
