// One end of a Unix socket to the simulation: it asks, we answer.
//
// A request is a header of two little-endian 32-bit numbers, operation and length of the body in
// bytes; the answer is the length of its body, then the body.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace xtdrone {

struct Closed : std::runtime_error {
  Closed() : std::runtime_error("the simulation closed its socket") {}
};

class Channel {
 public:
  ~Channel() {
    if (socket_ >= 0) ::close(socket_);
  }

  void Connect(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
      throw std::runtime_error("no usable <socket> for the lockstep plugin");
    std::strcpy(address.sun_path, path.c_str());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
      throw std::runtime_error("nobody listens on the socket " + path);
  }

  // Ends what waits in Read or Write, in whatever thread.
  void Shut() {
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }

  int Descriptor() const { return socket_; }

  // Reads one request: gives its operation, and its body through Body().
  std::uint32_t Request() {
    std::uint32_t header[2];
    Read(header, sizeof(header));
    if (header[1] > kLongest) throw Closed();
    body_.resize(header[1]);
    Read(body_.data(), body_.size());
    return header[0];
  }

  const std::vector<char> &Body() const { return body_; }
  std::string Text() const { return {body_.begin(), body_.end()}; }

  void Answer(const void *data, std::size_t size) {
    answer_.resize(sizeof(std::uint32_t) + size);
    const auto length = static_cast<std::uint32_t>(size);
    std::memcpy(answer_.data(), &length, sizeof(length));
    if (size > 0) std::memcpy(answer_.data() + sizeof(length), data, size);
    Write(answer_.data(), answer_.size());
  }

  void Answer(const std::string &text) { Answer(text.data(), text.size()); }

 private:
  static constexpr std::size_t kLongest = 1u << 26;  // body of a request [bytes]

  void Read(void *data, std::size_t size) {
    auto *at = static_cast<char *>(data);
    while (size > 0) {
      const ssize_t got = ::recv(socket_, at, size, 0);
      if (got == 0 || (got < 0 && errno != EINTR)) throw Closed();
      if (got > 0) {
        at += got;
        size -= static_cast<std::size_t>(got);
      }
    }
  }

  void Write(const void *data, std::size_t size) {
    const auto *at = static_cast<const char *>(data);
    while (size > 0) {
      const ssize_t sent = ::send(socket_, at, size, MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) throw Closed();
      if (sent > 0) {
        at += sent;
        size -= static_cast<std::size_t>(sent);
      }
    }
  }

  int socket_ = -1;
  std::vector<char> body_, answer_;
};

}  // namespace xtdrone
