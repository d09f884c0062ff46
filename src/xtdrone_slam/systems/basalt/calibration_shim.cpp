// Basalt in depthai asks the camera device for its calibration. There is no device here, so this
// library, preloaded, answers with the file named by DEPTHAI_CALIBRATION. Only the names of the
// two functions matter; the class is declared just far enough to be returned in memory.
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace dai {

class CalibrationHandler {
 public:
  CalibrationHandler(std::filesystem::path file, std::optional<bool> check);
  CalibrationHandler(const CalibrationHandler&);
  ~CalibrationHandler();
};

class DeviceBase {
 public:
  CalibrationHandler getCalibration();
};

CalibrationHandler DeviceBase::getCalibration() {
  return CalibrationHandler(std::getenv("DEPTHAI_CALIBRATION"), std::nullopt);
}

}  // namespace dai
