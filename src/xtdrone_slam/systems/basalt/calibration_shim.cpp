// Basalt in depthai reads its calibration from the camera device. Without a device this preloaded
// library returns the file named by DEPTHAI_CALIBRATION instead. Only the symbol names matter; the
// class is declared just as far as it takes to return it in memory.
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
