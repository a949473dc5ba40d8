#include <gradwire/gradwire.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> gradient(1000, 0.25f);
  const auto bytes = gradwire::encode("topk(1%) | natural", gradient);
  const std::vector<float> decoded = gradwire::decode(bytes);
  std::printf("%zu floats in %zu bytes\n", decoded.size(), bytes.size());
}
