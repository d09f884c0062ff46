#include "rays.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <gazebo/common/common.hh>
#include <gazebo/msgs/msgs.hh>
#include <gazebo/ode/ode.h>
#include <gazebo/physics/ode/ODECollision.hh>
#include <gazebo/physics/physics.hh>
#include <gazebo/transport/transport.hh>

namespace xtdrone {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One shape of the physics, with the box around it.
struct Shape {
  dGeomID geom;
  dReal box[6];  // from x, to x, from y, ...
};

// Whether a ray comes into the box at all, within `longest`.
bool Meets(const dReal *box, const double *origin, const double *direction, double longest) {
  double from = 0.0, to = longest;
  for (int k = 0; k < 3; ++k) {
    const double a = (box[2 * k] - origin[k]) / direction[k];
    const double b = (box[2 * k + 1] - origin[k]) / direction[k];
    from = std::max(from, std::min(a, b));  // a nan, on the edge, leaves it as it is
    to = std::min(to, std::max(a, b));
  }
  return from <= to;
}

std::vector<Shape> ShapesBut(const gazebo::physics::WorldPtr &world, const std::string &own) {
  std::vector<Shape> shapes;
  for (const auto &model : world->Models()) {
    if (model->GetName() == own) continue;
    for (const auto &link : model->GetLinks()) {
      for (const auto &collision : link->GetCollisions()) {
        const auto ode = boost::dynamic_pointer_cast<gazebo::physics::ODECollision>(collision);
        Shape shape{ode->GetCollisionId(), {}};
        dGeomGetAABB(shape.geom, shape.box);
        shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

}  // namespace

std::vector<double> Cast(gazebo::physics::WorldPtr world, const std::string &own, double longest,
                         const double *origin, const double *directions, std::size_t count) {
  boost::recursive_mutex::scoped_lock lock(*world->Physics()->GetPhysicsUpdateMutex());
  const auto shapes = ShapesBut(world, own);
  const dGeomID ray = dCreateRay(nullptr, longest);
  dGeomRaySetParams(ray, 0, 0);
  dGeomRaySetClosestHit(ray, 1);
  std::vector<double> ranges(count, kInfinity);
  for (std::size_t k = 0; k < count; ++k) {
    const double *direction = &directions[3 * k];
    double nearest = longest;
    dGeomRaySet(ray, origin[0], origin[1], origin[2], direction[0], direction[1], direction[2]);
    for (const auto &shape : shapes) {
      dContactGeom contact;
      if (!Meets(shape.box, origin, direction, nearest)) continue;
      if (dCollide(ray, shape.geom, 1, &contact, sizeof(contact)) > 0 && contact.depth <= nearest)
        ranges[k] = nearest = contact.depth;
    }
  }
  dGeomDestroy(ray);
  return ranges;
}

Scans::Scans(gazebo::physics::WorldPtr world)
    : world_(world), node_(new gazebo::transport::Node) {
  node_->Init(world->Name());
}

void Scans::Set(const std::string &text) {
  scanners_.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string vehicle, link, sensor;
    std::getline(words, vehicle, '\t');
    std::getline(words, link, '\t');
    std::getline(words, sensor, '\t');
    Scanner s;
    double x, y, z, qx, qy, qz, qw;
    words >> s.period >> x >> y >> z >> qx >> qy >> qz >> qw >> s.across.count >> s.across.from
        >> s.across.to >> s.up.count >> s.up.from >> s.up.to >> s.shortest >> s.longest;
    s.pose.Set({x, y, z}, {qw, qx, qy, qz});
    s.link = world_->ModelByName(vehicle)->GetLink(link);
    s.publisher = node_->Advertise<gazebo::msgs::LaserScanStamped>(
        "~/" + vehicle + "/" + s.link->GetName() + "/" + sensor + "/scan", 5);
    scanners_.push_back(s);
  }
}

void Scans::Publish() {
  if (scanners_.empty()) return;
  const std::int64_t now = std::llround(world_->SimTime().Double() * 1e6);
  for (const auto &scanner : scanners_)
    if (now % scanner.period == 0 && scanner.publisher->HasConnections()) Publish(scanner);
}

void Scans::Publish(const Scanner &s) {
  const auto pose = s.pose + s.link->WorldPose();
  std::vector<double> directions;
  for (unsigned row = 0; row < s.up.count; ++row) {
    const double elevation = s.up.from + row * s.up.Step();
    for (unsigned column = 0; column < s.across.count; ++column) {
      const double azimuth = s.across.from + column * s.across.Step();
      const auto ray = pose.Rot().RotateVector({std::cos(elevation) * std::cos(azimuth),
                                                std::cos(elevation) * std::sin(azimuth),
                                                std::sin(elevation)});
      directions.insert(directions.end(), {ray.X(), ray.Y(), ray.Z()});
    }
  }
  const double origin[3] = {pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z()};
  const auto ranges = Cast(world_, s.link->GetModel()->GetName(), s.longest, origin,
                           directions.data(), directions.size() / 3);
  gazebo::msgs::LaserScanStamped message;
  gazebo::msgs::Set(message.mutable_time(), world_->SimTime());
  auto *scan = message.mutable_scan();
  scan->set_frame(s.link->GetScopedName());
  gazebo::msgs::Set(scan->mutable_world_pose(), pose);
  scan->set_angle_min(s.across.from);
  scan->set_angle_max(s.across.to);
  scan->set_angle_step(s.across.Step());
  scan->set_count(s.across.count);
  scan->set_vertical_angle_min(s.up.from);
  scan->set_vertical_angle_max(s.up.to);
  scan->set_vertical_angle_step(s.up.Step());
  scan->set_vertical_count(s.up.count);
  scan->set_range_min(s.shortest);
  scan->set_range_max(s.longest);
  for (const double range : ranges) {
    scan->add_ranges(range < s.shortest ? -kInfinity : range);
    scan->add_intensities(0.0);
  }
  s.publisher->Publish(message);
}

}  // namespace xtdrone
