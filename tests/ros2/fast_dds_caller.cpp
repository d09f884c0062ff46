// Calls services on Fast DDS as rmw_fastrtps_cpp does, and knows none of the workspace's code.
//
//     fast_dds_caller DOMAIN
//
// Each line of its input is a call: service, type (pkg/Name), request as hexadecimal bytes of CDR
// behind its encapsulation. It prints the response likewise, or "no server" or "no answer".
//
// As there, a request carries the GUID of the client's reader of responses as its related sample
// identity, beside the message; a response is the client's if it carries that GUID and the
// request's sequence number.

#include "fast_dds_raw.h"

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/common/WriteParams.h>

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::WriteParams;
using Clock = std::chrono::steady_clock;

const std::chrono::seconds LIMIT(20);

// Waits for a condition; false where it does not come.
bool await(const std::function<bool()>& condition) {
    auto end = Clock::now() + LIMIT;
    while (!condition()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

class Participant {
public:
    explicit Participant(int domain) {
        participant_ = DomainParticipantFactory::get_instance()->create_participant(
            domain, PARTICIPANT_QOS_DEFAULT);
        publisher_ = participant_->create_publisher(PUBLISHER_QOS_DEFAULT);
        subscriber_ = participant_->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
    }
    ~Participant() {
        participant_->delete_contained_entities();
        DomainParticipantFactory::get_instance()->delete_participant(participant_);
    }
    DataWriter* writer(const std::string& topic, const std::string& type) {
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
        qos.durability().kind = VOLATILE_DURABILITY_QOS;
        qos.history().depth = 10;
        qos.publish_mode().kind = ASYNCHRONOUS_PUBLISH_MODE;
        qos.data_sharing().off();
        return publisher_->create_datawriter(made(topic, type), qos);
    }
    DataReader* reader(const std::string& topic, const std::string& type) {
        DataReaderQos qos = DATAREADER_QOS_DEFAULT;
        qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
        qos.durability().kind = VOLATILE_DURABILITY_QOS;
        qos.history().depth = 10;
        qos.data_sharing().off();
        return subscriber_->create_datareader(made(topic, type), qos);
    }

private:
    Topic* made(const std::string& topic, const std::string& type) {
        TypeSupport support(new Raw(type));
        support.register_type(participant_);
        return participant_->create_topic(topic, type, TOPIC_QOS_DEFAULT);
    }
    DomainParticipant* participant_;
    Publisher* publisher_;
    Subscriber* subscriber_;
};

class Client {
public:
    Client(Participant& participant, const std::string& service, const std::string& type) {
        auto slash = type.find('/');
        std::string name = type.substr(0, slash) + "::srv::dds_::" + type.substr(slash + 1);
        answers_ = participant.reader("rr" + service + "Reply", name + "_Response_");
        asking_ = participant.writer("rq" + service + "Request", name + "_Request_");
    }
    std::string call(Bytes request) {
        if (!await([&] { return is_there(); })) return "no server";
        WriteParams parameters;
        parameters.related_sample_identity().writer_guid() = answers_->guid();
        if (!asking_->write(&request, parameters)) return "not sent";
        auto number = parameters.sample_identity().sequence_number();
        std::string found;
        bool came = await([&] {
            Bytes bytes;
            SampleInfo info;
            while (answers_->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
                if (!info.valid_data) continue;
                auto& whose = info.related_sample_identity;
                bool own = whose.writer_guid() == answers_->guid()
                    || whose.writer_guid() == asking_->guid();
                if (!own || !(whose.sequence_number() == number)) continue;
                found = hexadecimal(bytes);
                return true;
            }
            return false;
        });
        return came ? found : "no answer";
    }

private:
    bool is_there() {
        PublicationMatchedStatus servers;
        SubscriptionMatchedStatus writers;
        asking_->get_publication_matched_status(servers);
        answers_->get_subscription_matched_status(writers);
        return servers.current_count == 1 && writers.current_count == 1;
    }
    static std::string hexadecimal(const Bytes& bytes) {
        std::ostringstream text;
        text << std::hex;
        for (char one : bytes) {
            int value = static_cast<unsigned char>(one);
            text << "0123456789abcdef"[value >> 4] << "0123456789abcdef"[value & 15];
        }
        return text.str();
    }
    DataReader* answers_;
    DataWriter* asking_;
};

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    Participant participant(std::stoi(argv[1]));
    std::map<std::string, std::unique_ptr<Client>> clients;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string service, type, text;
        words >> service >> type >> text;
        Bytes request;
        for (size_t k = 0; k + 1 < text.size(); k += 2)
            request.push_back(static_cast<char>(std::stoi(text.substr(k, 2), nullptr, 16)));
        auto& client = clients[service];
        if (!client) client.reset(new Client(participant, service, type));
        std::cout << client->call(request) << std::endl;
    }
    return 0;
}
