// Models that come and go while the world runs; each has one link, called "body".

#pragma once

#include <string>
#include <vector>

#include <gazebo/physics/physics.hh>

namespace xtdrone {

constexpr std::size_t kState = 13;  // numbers of one body's state

// Position xyz, quaternion xyzw and velocity xyz of a link's frame in the world, and its angular
// velocity xyz in that frame.
void StateOf(const gazebo::physics::LinkPtr &link, double *state);

// Moves a link's whole model so that the link's frame has this state; joints stay as they are.
void MoveTo(const gazebo::physics::LinkPtr &link, const double *state);

class Models {
 public:
  explicit Models(gazebo::physics::WorldPtr world) : world_(std::move(world)) {}

  // A model is there, or gone, after Gazebo's world loop has run once more.
  void Insert(const std::string &sdf) { world_->InsertModelString(sdf); }
  void Remove(const std::string &name);

  // States of the models that are named, a line each; NaN for one that is not there.
  std::vector<double> States(const std::string &names) const;

  bool Move(const std::string &name, const double *state);

  // Force xyz and torque xyz on the centre of gravity, world frame, for the next step.
  void Push(const std::string &name, const double *wrench);

  // Applies what was pushed since the last step.
  void Apply();

 private:
  struct Wrench {
    std::string name;
    ignition::math::Vector3d force, torque;
  };

  gazebo::physics::LinkPtr Body(const std::string &name) const;

  gazebo::physics::WorldPtr world_;
  std::vector<Wrench> pushed_;
};

}  // namespace xtdrone
