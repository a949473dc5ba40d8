// Asks AddressSanitizer, where it is linked, to reuse freed memory sooner than it would: inputs are
// small and many, and most of their time would be spent on pages that were never touched before.
extern "C" const char* __asan_default_options();

extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8"; }
