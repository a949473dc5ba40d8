#include "reproduce/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/escape.h"

namespace gradwire::reproduce {
namespace {

constexpr double kWidth = 760;
constexpr double kLeft = 82;
constexpr double kRight = 24;
constexpr double kTop = 44;
constexpr double kPlotHeight = 320;
constexpr double kInset = 10;         // between the frame and the ends of the axes
constexpr double kNamesHeight = 84;   // more below the plot for names instead of numbers
constexpr double kAxisHeight = 54;    // below the plot: ticks, and what they count
constexpr double kLegendHeight = 22;  // of a line
constexpr double kCharacter = 7.2;    // the width of one, about
constexpr std::size_t kPointsMax = 400;
constexpr std::size_t kMarkedMax = 30;  // curves of fewer points show them

// Colours that people with any kind of sight tell apart (Okabe and Ito), on light and on dark
// pages, and dashes beside them.
struct Colour {
  const char* light;
  const char* dark;
};
constexpr std::array<Colour, 8> kColours = {{{"#0072b2", "#4aa8e0"},
                                             {"#d55e00", "#f08030"},
                                             {"#009e73", "#2fc79a"},
                                             {"#cc79a7", "#dd98c0"},
                                             {"#000000", "#f0f0f0"},
                                             {"#e69f00", "#f0b840"},
                                             {"#56b4e9", "#8fd0f5"},
                                             {"#7f7f7f", "#a0a0a0"}}};
constexpr std::array kDashes = {"", "8 4", "2 3", "10 3 2 3", "5 2", "12 4", "1 4", "6 6"};

// One direction of a picture: from values to places.
class Axis {
 public:
  Axis(bool is_log, double from, double to) : is_log_(is_log), from_(from), to_(to) {}

  bool takes(double value) const { return std::isfinite(value) && (!is_log_ || value > 0); }
  void cover(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }

  // When all values are covered: there is some way between the ends, which become ticks unless the
  // axis is logarithmic and has ticks enough between them.
  void settle() {
    if (low_ > high_) low_ = high_ = 1;
    if (low_ == high_) {
      low_ = is_log_ ? low_ / 2 : low_ - 0.5;
      high_ = is_log_ ? high_ * 2 : high_ + 0.5;
    }
    least_ = low_;
    most_ = high_;
    ticks_ = ticks(low_, high_, is_log_);
    if (is_log_) {
      std::vector<double> inner = ticks_;
      std::erase_if(inner, [&](double tick) { return tick < low_ || tick > high_; });
      if (inner.size() >= 2) ticks_ = inner;
    }
    low_ = std::min(low_, ticks_.front());
    high_ = std::max(high_, ticks_.back());
  }

  // The same, but the ends are those of the values.
  void settle_at_ends() {
    settle();
    low_ = least_;
    high_ = most_;
  }

  double place(double value) const {
    return from_ + (to_ - from_) * (scaled(value) - scaled(low_)) / (scaled(high_) - scaled(low_));
  }
  const std::vector<double>& tick_values() const { return ticks_; }

 private:
  double scaled(double value) const { return is_log_ ? std::log10(value) : value; }

  bool is_log_;
  double from_;
  double to_;
  double low_ = std::numeric_limits<double>::max();
  double high_ = std::numeric_limits<double>::lowest();
  double least_ = 0;  // of the values, once it is settled
  double most_ = 0;
  std::vector<double> ticks_;
};

std::string tick_text(double value) {
  const double magnitude = std::abs(value);
  if (value == 0) return "0";
  if (magnitude >= 1e5 || magnitude < 1e-3) return fmt::format("{:.3g}", value);
  return fmt::format("{:.6g}", value);
}

std::string text_at(double x, double y, const std::string& text, const char* how) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, how,
                     report::html_text(text));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& how) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, how);
}

// All colours, as classes: .c0 of lines, .f0 of marks.
std::string style_sheet() {
  std::string light = ".bg{fill:#fff}text{fill:#222}.grid{stroke:#e2e2e2}.frame{stroke:#444}";
  std::string dark =
      ".bg{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#2d333b}.frame{stroke:#8b949e}";
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    light += fmt::format(".c{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, kColours[i].light);
    dark += fmt::format(".c{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, kColours[i].dark);
  }
  return fmt::format("<style>{}@media(prefers-color-scheme:dark){{{}}}</style>\n", light, dark);
}

std::string style_of(std::size_t number) {
  const char* const dashes = kDashes[number % kDashes.size()];
  return fmt::format("class=\"c{}\" stroke-width=\"2\" fill=\"none\"{}", number % kColours.size(),
                     *dashes == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes));
}

// Names below the plot, turned so that long ones have room.
std::string names_of(const Axis& x, const std::vector<std::string>& names) {
  const double bottom = kTop + kPlotHeight;
  std::string grid;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double at = x.place(static_cast<double>(i + 1));
    grid += line(at, kTop, at, bottom, "class=\"grid\"");
    const std::string how = fmt::format(
        "text-anchor=\"end\" font-size=\"11\" transform=\"translate({:.1f} {:.1f}) rotate(-50)\"",
        at + 4, bottom + 14);
    grid += text_at(0, 0, names[i], how.c_str());
  }
  return grid;
}

std::string numbers_of(const Axis& x) {
  const double bottom = kTop + kPlotHeight;
  std::string grid;
  for (const double tick : x.tick_values()) {
    const double at = x.place(tick);
    grid += line(at, kTop, at, bottom, "class=\"grid\"");
    grid += text_at(at, bottom + 18, tick_text(tick), "text-anchor=\"middle\"");
  }
  return grid;
}

std::string grid_of(const Picture& picture, const Axis& x, const Axis& y) {
  const std::string how = "class=\"grid\"";
  std::string grid = picture.x_names.empty() ? numbers_of(x) : names_of(x, picture.x_names);
  for (const double tick : y.tick_values()) {
    const double at = y.place(tick);
    grid += line(kLeft, at, kWidth - kRight, at, how);
    grid += text_at(kLeft - 8, at + 4, tick_text(tick), "text-anchor=\"end\"");
  }
  return grid + fmt::format(
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
                    "class=\"frame\"/>\n",
                    kLeft, kTop, kWidth - kLeft - kRight, kPlotHeight);
}

// Every so many-th point, and the last one: more would not be seen.
std::string points_of(const Curve& curve, const Axis& x, const Axis& y, std::string& marks) {
  const std::size_t count = std::min(curve.x.size(), curve.y.size());
  const std::size_t stride = count / kPointsMax + 1;
  std::string points;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_shown = i % stride == 0 || i + 1 == count;
    if (!is_shown || !x.takes(curve.x[i]) || !y.takes(curve.y[i])) continue;
    const double left = x.place(curve.x[i]);
    const double top = y.place(curve.y[i]);
    points += fmt::format("{:.1f},{:.1f} ", left, top);
    if (count <= kMarkedMax) {
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", left, top);
    }
  }
  return points;
}

std::string curve_of(const Curve& curve, std::size_t number, const Axis& x, const Axis& y) {
  std::string marks;
  const std::string points = points_of(curve, x, y, marks);
  std::string text = fmt::format("<polyline points=\"{}\" {}/>\n", points, style_of(number));
  if (!marks.empty()) {
    text += fmt::format("<g class=\"f{}\">{}</g>\n", number % kColours.size(), marks);
  }
  return text;
}

// The curves' names below the plot, as many to a line as there is room for.
class Legend {
 public:
  Legend(const std::vector<Curve>& curves, double top) {
    double x = kLeft;
    std::size_t row = 0;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const double width = kKey + kCharacter * static_cast<double>(curves[i].label.size()) + 22;
      if (x > kLeft && x + width > kWidth) {
        x = kLeft;
        ++row;
      }
      const double y = top + kLegendHeight * static_cast<double>(row);
      text_ += line(x, y + 8, x + kKey - 8, y + 8, style_of(i));
      text_ += text_at(x + kKey, y + 12, curves[i].label, "text-anchor=\"start\"");
      x += width;
    }
    height_ = kLegendHeight * static_cast<double>(row + 1);
  }

  const std::string& text() const { return text_; }
  double height() const { return height_; }

 private:
  static constexpr double kKey = 44;
  std::string text_;
  double height_ = 0;
};

std::vector<double> log_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int stride = std::max(1, (last - first + 7) / 8);
  const bool is_short = last - first <= 2;
  std::vector<double> values;
  for (int decade = first; decade <= last; decade += stride) {
    const double power = std::pow(10.0, decade);
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && (!is_short || decade == last)) break;
      values.push_back(factor * power);
    }
  }
  // No more of the outer ones than it takes to cover all.
  while (values.size() > 2 && values[1] <= low) values.erase(values.begin());
  while (values.size() > 2 && values[values.size() - 2] >= high) values.pop_back();
  return values;
}

std::vector<double> linear_ticks(double low, double high) {
  const double rough = (high - low) / 6;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> values;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) values.push_back(i * step);
  return values;
}

}  // namespace

std::vector<double> ticks(double low, double high, bool is_log) {
  return is_log ? log_ticks(low, high) : linear_ticks(low, high);
}

std::string svg_of(const Picture& picture) {
  const double bottom = kTop + kPlotHeight;
  Axis x(picture.log_x, kLeft + kInset, kWidth - kRight - kInset);
  Axis y(picture.log_y, bottom - kInset, kTop + kInset);
  for (const Curve& curve : picture.curves) {
    for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
      if (!x.takes(curve.x[i]) || !y.takes(curve.y[i])) continue;
      x.cover(curve.x[i]);
      y.cover(curve.y[i]);
    }
  }
  if (picture.x_names.empty()) {
    x.settle();
  } else {
    x.settle_at_ends();
  }
  y.settle();

  const double axis_height = kAxisHeight + (picture.x_names.empty() ? 0 : kNamesHeight);
  const Legend legend(picture.curves, bottom + axis_height);
  const double height = bottom + axis_height + legend.height() + 8;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\">\n{2}"
      "<rect class=\"bg\" width=\"{0}\" height=\"{1}\"/>\n",
      kWidth, height, style_sheet());
  svg += text_at(kLeft, 26, picture.title, "font-size=\"16\" font-weight=\"bold\"");
  svg += grid_of(picture, x, y);
  for (std::size_t i = 0; i < picture.curves.size(); ++i) {
    svg += curve_of(picture.curves[i], i, x, y);
  }
  const double middle = (kLeft + kWidth - kRight) / 2;
  svg += text_at(middle, bottom + axis_height - 14, picture.x_label, "text-anchor=\"middle\"");
  svg += text_at(0, 0, picture.y_label,
                 fmt::format("text-anchor=\"middle\" transform=\"translate(18 {}) rotate(-90)\"",
                             kTop + kPlotHeight / 2)
                     .c_str());
  return svg + legend.text() + "</svg>\n";
}

}  // namespace gradwire::reproduce
