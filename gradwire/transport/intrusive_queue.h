// A queue of objects that somebody else owns, linked by their own member `next`: it never
// allocates. An object is in one queue at a time and leaves it before it is destroyed.
#pragma once

namespace gradwire {

template <class T>
class IntrusiveQueue {
 public:
  T* front() const { return first_; }
  bool empty() const { return first_ == nullptr; }

  void push(T& object) {
    object.next = nullptr;
    (first_ ? last_->next : first_) = &object;
    last_ = &object;
  }

  void pop() { first_ = first_->next; }

  // Takes out the first object for which `is_wanted` holds. Null: there is none.
  template <class IsWanted>
  T* take(const IsWanted& is_wanted) {
    T* before = nullptr;
    for (T* object = first_; object; before = object, object = object->next) {
      if (!is_wanted(*object)) continue;
      (before ? before->next : first_) = object->next;
      if (last_ == object) last_ = before;
      return object;
    }
    return nullptr;
  }

  void clear() { first_ = nullptr; }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;  // of a queue that is not empty
};

}  // namespace gradwire
