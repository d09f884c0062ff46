// Models that come and go while the world runs; each has one link, called "body".

#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <gazebo/physics/physics.hh>
#include <gazebo/transport/transport.hh>

namespace xtdrone {

constexpr std::size_t kState = 13;  // numbers of one body's state

// Position xyz, quaternion xyzw and velocity xyz of a link's frame in the world, and its angular
// velocity xyz in that frame.
void StateOf(const gazebo::physics::LinkPtr &link, double *state);

// Moves a link's whole model so that the link's frame has this state; joints stay as they are.
void MoveTo(const gazebo::physics::LinkPtr &link, const double *state);

class Models {
 public:
  explicit Models(gazebo::physics::WorldPtr world);

  // A model is there, or gone, after Gazebo's world loop has run a few times more.
  void Insert(const std::string &sdf);
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
  void Ask(int rounds);
  void OnResponse(ConstResponsePtr &response);

  gazebo::physics::WorldPtr world_;
  std::vector<Wrench> pushed_;

  std::mutex mutex_;                  // for the next three
  int rounds_ = 0;                    // of Gazebo's world loop that an insertion has to wait for
  int asked_ = 0;                     // number of the request that ends the present round
  std::vector<std::string> waiting_;  // SDF of what is to be inserted then
  gazebo::transport::NodePtr node_;
  gazebo::transport::PublisherPtr request_;
  gazebo::transport::SubscriberPtr response_;
};

}  // namespace xtdrone
