// Debian's libgloo-dev (May 2022) leaves this header out, though Gloo's own tcp headers include it.
// This one stands in for it: the same three names with the same layout, one shared_ptr or weak_ptr
// each, so that it fits the installed library. On the include path of the library's own sources
// only.
//
// A buffer belongs to its user, who may destroy it while Gloo's thread has an operation on it. So
// Gloo keeps weak pointers, makes them strong for as long as it touches the buffer, and the
// buffer's destructor waits until nobody holds a strong one.
#pragma once

#include <memory>
#include <thread>

namespace gloo {

template <typename T>
class WeakNonOwningPtr;

template <typename T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* object) : pointer_(object, [](void*) {}) {}
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;

  ~ShareableNonOwningPtr() {
    const std::weak_ptr<T> others = pointer_;
    pointer_.reset();
    while (!others.expired()) std::this_thread::yield();
  }

 private:
  friend class WeakNonOwningPtr<T>;
  std::shared_ptr<T> pointer_;
};

template <typename T>
class NonOwningPtr final {
 public:
  NonOwningPtr() = default;
  explicit NonOwningPtr(const WeakNonOwningPtr<T>& weak) : pointer_(weak.pointer_.lock()) {}

  T* operator->() const noexcept { return pointer_.get(); }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }

 private:
  std::shared_ptr<T> pointer_;
};

template <typename T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& object) : pointer_(object.pointer_) {}

  // Whether it was ever set, be the object alive or not.
  explicit operator bool() const noexcept {
    const std::weak_ptr<T> never_set;
    return pointer_.owner_before(never_set) || never_set.owner_before(pointer_);
  }

 private:
  friend class NonOwningPtr<T>;
  std::weak_ptr<T> pointer_;
};

}  // namespace gloo
