// A user of ROS 2's topics on Fast DDS: receives what a list names, and flies one vehicle by PX4's
// off-board topics. It knows none of the workspace's code: fastcdr reads and writes the messages.
//
//     fast_dds_user DOMAIN SECONDS LIST [NAMESPACE HEIGHT]
//
// LIST has a line for each topic: name, type, layout in the notation of Python's struct, with h for
// a std_msgs/Header. For each topic it prints a line: name, messages, messages that do not fit the
// layout, least and greatest time between two of their stamps [ns], and the numbers of the last.
// With NAMESPACE (- for none) it arms that vehicle and climbs to HEIGHT [m], and says "flown".

#include "fast_dds_raw.h"

#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

template <typename T>
void read(Cdr& cdr, int count, std::vector<double>& out) {
    for (int k = 0; k < count; ++k) {
        T value;
        cdr >> value;
        out.push_back(static_cast<double>(value));
    }
}

// The numbers of a message; the first is its stamp [ns]. False where it does not fit.
bool decode(Bytes& bytes, const std::string& layout, std::vector<double>& out) {
    FastBuffer buffer(bytes.data(), bytes.size());
    Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
    cdr.read_encapsulation();
    out.clear();
    int count = 0;
    try {
        for (char code : layout) {
            if (code >= '0' && code <= '9') {
                count = 10 * count + (code - '0');
                continue;
            }
            int times = count ? count : 1;
            count = 0;
            switch (code) {
                case 'h': {
                    int32_t sec;
                    uint32_t nanosec;
                    std::string frame;
                    cdr >> sec >> nanosec >> frame;
                    out.push_back(sec * 1e9 + nanosec);
                    break;
                }
                case 'd': read<double>(cdr, times, out); break;
                case 'f': read<float>(cdr, times, out); break;
                case 'Q': read<uint64_t>(cdr, times, out); break;
                case 'i': read<int32_t>(cdr, times, out); break;
                case 'I': read<uint32_t>(cdr, times, out); break;
                case 'H': read<uint16_t>(cdr, times, out); break;
                case 'B': read<uint8_t>(cdr, times, out); break;
                case 'b': {
                    for (int k = 0; k < times; ++k) {
                        char value;
                        cdr >> value;
                        out.push_back(static_cast<signed char>(value));
                    }
                    break;
                }
                default: return false;
            }
        }
    } catch (const std::exception&) {
        return false;
    }
    if (layout[0] == 'Q') out[0] *= 1e3;
    return bytes.size() - cdr.getSerializedDataLength() < 4;  // nothing but padding is left
}

class Ear : public DataReaderListener {
public:
    std::string topic, layout;
    long count = 0, bad = 0;
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    std::vector<double> last;

    void on_data_available(DataReader* reader) override {
        Bytes bytes;
        SampleInfo info;
        while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
            if (!info.valid_data) continue;
            std::vector<double> values;
            std::lock_guard<std::mutex> hold(lock_);
            if (!decode(bytes, layout, values)) {
                ++bad;
                continue;
            }
            if (count++) {
                least = std::min(least, values[0] - last[0]);
                most = std::max(most, values[0] - last[0]);
            }
            last = values;
        }
    }
    std::vector<double> newest() {
        std::lock_guard<std::mutex> hold(lock_);
        return last;
    }

private:
    std::mutex lock_;
};

class Node {
public:
    explicit Node(int domain) {
        DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
        qos.transport().listen_socket_buffer_size = 4 << 20;
        participant_ = DomainParticipantFactory::get_instance()->create_participant(domain, qos);
        subscriber_ = participant_->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
        publisher_ = participant_->create_publisher(PUBLISHER_QOS_DEFAULT);
    }
    ~Node() {
        participant_->delete_contained_entities();
        DomainParticipantFactory::get_instance()->delete_participant(participant_);
    }
    std::unique_ptr<Ear> listen(const std::string& name, const std::string& type,
                                const std::string& layout) {
        std::unique_ptr<Ear> ear(new Ear);
        ear->topic = name;
        ear->layout = layout;
        DataReaderQos qos = DATAREADER_QOS_DEFAULT;
        qos.reliability().kind = BEST_EFFORT_RELIABILITY_QOS;
        qos.history().kind = KEEP_LAST_HISTORY_QOS;
        qos.history().depth = 200;
        subscriber_->create_datareader(topic(name, type), qos, ear.get());
        return ear;
    }
    DataWriter* writer(const std::string& name, const std::string& type) {
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
        return publisher_->create_datawriter(topic(name, type), qos);
    }

private:
    Topic* topic(const std::string& name, const std::string& type) {
        std::string full = type.substr(0, type.find('/')) + "::msg::dds_::"
            + type.substr(type.find('/') + 1) + "_";
        TypeSupport support(new Raw(full));
        support.register_type(participant_);
        return participant_->create_topic("rt" + name, full, TOPIC_QOS_DEFAULT);
    }
    DomainParticipant* participant_;
    Subscriber* subscriber_;
    Publisher* publisher_;
};

void send(DataWriter* writer, const std::function<void(Cdr&)>& fill) {
    Bytes bytes(512);
    FastBuffer buffer(bytes.data(), bytes.size());
    Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
    cdr.serialize_encapsulation();
    fill(cdr);
    bytes.resize(cdr.getSerializedDataLength());
    writer->write(&bytes);
}

// Flies one vehicle as PX4's example offboard_control does.
class Pilot {
public:
    Pilot(Node& node, const std::string& space, float height) : height_(height) {
        std::string in = space + "/fmu/in/";
        mode_ = node.writer(in + "offboard_control_mode", "px4_msgs/OffboardControlMode");
        point_ = node.writer(in + "trajectory_setpoint", "px4_msgs/TrajectorySetpoint");
        command_ = node.writer(in + "vehicle_command", "px4_msgs/VehicleCommand");
        int number = space.empty() ? 0 : std::stoi(space.substr(space.rfind('_') + 1));
        system_ = static_cast<uint8_t>(number + 1);
    }
    void step(const std::vector<double>& local, const std::vector<double>& status) {
        send(mode_, [](Cdr& c) {
            c << uint64_t(0) << true;
            for (int k = 0; k < 6; ++k) c << false;
        });
        if (local.size() < 9 || status.size() < 9) return;
        if (!begun_) {  // where it is once its checks pass, the last field of its status
            if (status.back() != 1) return;
            x_ = float(local[6]);
            y_ = float(local[7]);
            begun_ = true;
        }
        float nan = std::numeric_limits<float>::quiet_NaN();
        send(point_, [&](Cdr& c) {
            c << uint64_t(0) << x_ << y_ << -height_;
            for (int k = 0; k < 9; ++k) c << nan;
            c << nan << nan;
        });
        bool armed = status[3] == 2, offboard = status[8] == 14;
        if (++ticks_ % 20 == 0) {
            if (!offboard) order(176, 1, 6);
            else if (!armed) order(400, 1, 0);
        }
        flown = flown || (armed && offboard && std::abs(local[8] + height_) < 0.3);
    }
    bool flown = false;

private:
    void order(uint32_t command, float first, float second) {
        send(command_, [&](Cdr& c) {
            c << uint64_t(0) << first << second << 0.0f << 0.0f << 0.0 << 0.0 << 0.0f << command
              << system_ << uint8_t(1) << uint8_t(1) << uint16_t(1) << uint8_t(0) << true;
        });
    }
    DataWriter *mode_, *point_, *command_;
    float height_, x_ = 0.0f, y_ = 0.0f;
    uint8_t system_;
    bool begun_ = false;
    long ticks_ = 0;
};

int main(int argc, char** argv) {
    if (argc != 4 && argc != 6) return 2;
    std::vector<std::unique_ptr<Ear>> ears;  // outlive the node, whose threads call them
    Node node(std::stoi(argv[1]));
    double seconds = std::stod(argv[2]);
    std::ifstream list(argv[3]);
    std::string name, type, layout;
    while (list >> name >> type >> layout) ears.push_back(node.listen(name, type, layout));
    std::unique_ptr<Pilot> pilot;
    Ear *local = nullptr, *status = nullptr;
    if (argc == 6) {
        std::string space = std::string(argv[4]) == "-" ? "" : argv[4];
        pilot.reset(new Pilot(node, space, std::stof(argv[5])));
        for (auto& ear : ears) {
            if (ear->topic == space + "/fmu/out/vehicle_local_position") local = ear.get();
            if (ear->topic == space + "/fmu/out/vehicle_status") status = ear.get();
        }
    }
    std::cout << "listening" << std::endl;
    using clock = std::chrono::steady_clock;
    auto end = clock::now() + std::chrono::duration<double>(seconds);
    while (clock::now() < end && !(pilot && pilot->flown)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (pilot) pilot->step(local->newest(), status->newest());
    }
    for (auto& ear : ears) {
        auto last = ear->newest();
        std::cout << ear->topic << ' ' << ear->count << ' ' << ear->bad << ' '
                  << static_cast<long long>(ear->count > 1 ? ear->least : 0) << ' '
                  << static_cast<long long>(ear->most);
        std::cout.precision(12);
        for (double value : last) std::cout << ' ' << value;
        std::cout << '\n';
    }
    std::cout << (pilot && pilot->flown ? "flown" : "end") << std::endl;
    return 0;
}
