// Messages of Fast DDS as their bytes.

#pragma once

#include <fastdds/dds/topic/TopicDataType.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;
using Bytes = std::vector<char>;

class Raw : public eprosima::fastdds::dds::TopicDataType {  // a message as its bytes
public:
    explicit Raw(const std::string& name) {
        setName(name.c_str());
        m_typeSize = 65000;
        m_isGetKeyDefined = false;
    }
    bool serialize(void* data, SerializedPayload_t* payload) override {
        auto& bytes = *static_cast<Bytes*>(data);
        if (bytes.size() > payload->max_size) return false;
        std::memcpy(payload->data, bytes.data(), bytes.size());
        payload->length = static_cast<uint32_t>(bytes.size());
        payload->encapsulation = CDR_LE;
        return true;
    }
    bool deserialize(SerializedPayload_t* payload, void* data) override {
        auto* first = reinterpret_cast<char*>(payload->data);
        static_cast<Bytes*>(data)->assign(first, first + payload->length);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<uint32_t>(static_cast<Bytes*>(data)->size()); };
    }
    void* createData() override { return new Bytes; }
    void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};
