// What the vehicles' lidars and range finders measure in the physics, by ODE itself: Gazebo's ray
// sensor takes 10 us and more for each ray.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gazebo/physics/PhysicsTypes.hh>
#include <gazebo/transport/TransportTypes.hh>
#include <ignition/math/Pose3.hh>

namespace xtdrone {

// Distance along each ray to the first thing that is not part of the model `own`; inf where there
// is nothing up to `longest`. Rays meet bodies where the physics has them now.
//
//   origin      xyz, world
//   directions  count times xyz, unit vectors, world
std::vector<double> Cast(gazebo::physics::WorldPtr world, const std::string &own, double longest,
                         const double *origin, const double *directions, std::size_t count);

// Gazebo's topics of scans, ~/VEHICLE/LINK/SENSOR/scan, for those who subscribe to them: ideal
// ones, as are the images of Gazebo's cameras. A scan that nobody wants is not measured.
class Scans {
 public:
  explicit Scans(gazebo::physics::WorldPtr world);

  // The scanners of the fleet: a line "vehicle<TAB>link<TAB>sensor<TAB>numbers" for each, with period
  // [us], position xyz and quaternion xyzw in the link, then number of rays, first and last angle [rad]
  // for the horizontal and likewise for the vertical, shortest and longest distance [m].
  void Set(const std::string &text);

  // Measures and publishes the scans that are due now.
  void Publish();

 private:
  struct Fan {
    unsigned count;
    double from, to;  // [rad]
    double Step() const { return count > 1 ? (to - from) / (count - 1) : 0.0; }
  };
  struct Scanner {
    gazebo::physics::LinkPtr link;
    std::int64_t period;  // [us]
    ignition::math::Pose3d pose;
    Fan across, up;
    double shortest, longest;
    gazebo::transport::PublisherPtr publisher;
  };

  void Publish(const Scanner &scanner);

  gazebo::physics::WorldPtr world_;
  gazebo::transport::NodePtr node_;
  std::vector<Scanner> scanners_;
};

}  // namespace xtdrone
