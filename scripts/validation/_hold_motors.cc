// A Gazebo model plugin that sends sitl_gazebo's motors the <speeds> of its tag at every step.

#include <sstream>

#include <gazebo/gazebo.hh>
#include <gazebo/physics/physics.hh>
#include <gazebo/transport/transport.hh>

#include "CommandMotorSpeed.pb.h"

namespace xtdrone {

class HoldMotors : public gazebo::ModelPlugin {
 public:
  void Load(gazebo::physics::ModelPtr model, sdf::ElementPtr sdf) override {
    std::istringstream speeds(sdf->Get<std::string>("speeds"));
    for (float speed; speeds >> speed;) message_.add_motor_speed(speed);
    node_.reset(new gazebo::transport::Node());
    node_->Init();
    publisher_ = node_->Advertise<mav_msgs::msgs::CommandMotorSpeed>(
        "~/" + model->GetName() + "/gazebo/command/motor_speed", 1);
    begin_ = gazebo::event::Events::ConnectWorldUpdateBegin(
        [this](const gazebo::common::UpdateInfo &) { publisher_->Publish(message_); });
  }

 private:
  mav_msgs::msgs::CommandMotorSpeed message_;
  gazebo::transport::NodePtr node_;
  gazebo::transport::PublisherPtr publisher_;
  gazebo::event::ConnectionPtr begin_;
};

GZ_REGISTER_MODEL_PLUGIN(HoldMotors)

}  // namespace xtdrone
