#include "gradwire/codec/spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gradwire/core/error.h"
#include "gtest/gtest.h"

namespace gradwire {
namespace {

// The error that parsing gives, or one without a message if it gives none.
SpecError parse_error(std::string_view text) {
  try {
    parse_spec(text);
  } catch (const SpecError& error) {
    return error;
  }
  return {"", 0};
}

void expect_refused(std::string_view text, std::size_t position, std::string_view what) {
  const SpecError error = parse_error(text);
  EXPECT_EQ(error.position(), position) << text << "\n" << error.what();
  EXPECT_NE(std::string_view(error.what()).find(what), std::string_view::npos)
      << "expected: " << what << "\n"
      << error.what();
}

// Runs `read` on the reader of the first stage, then finish(), and gives the message or "".
template <class Read>
std::string read_error(std::string_view text, Read read) {
  const Spec spec = parse_spec(text);
  StageReader reader(spec.text, spec.stages.front());
  try {
    read(reader);
    reader.finish();
  } catch (const SpecError& error) {
    return error.what();
  }
  return "";
}

TEST(SpecGrammar, NameAloneIsOneStageWithoutArguments) {
  const Spec spec = parse_spec("natural_dither");
  ASSERT_EQ(spec.stages.size(), 1u);
  EXPECT_EQ(spec.stages[0].name, "natural_dither");
  EXPECT_TRUE(spec.stages[0].arguments.empty());
}

TEST(SpecGrammar, PipeKeepsTheOrderAndThePositionsOfItsStages) {
  const Spec spec = parse_spec("topk(1%) | natural | entropy");
  ASSERT_EQ(spec.stages.size(), 3u);
  EXPECT_EQ(spec.stages[0].name, "topk");
  EXPECT_EQ(spec.stages[1].name, "natural");
  EXPECT_EQ(spec.stages[1].position, 11u);
  EXPECT_EQ(spec.stages[2].name, "entropy");
  EXPECT_EQ(spec.stages[2].position, 21u);
}

TEST(SpecGrammar, ArgumentsAreNumbersWordsOrSpecs) {
  const Spec spec = parse_spec("ef(topk(1%) | natural, bits=4, norm=linf)");
  const std::vector<SpecArgument>& arguments = spec.stages.at(0).arguments;
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[0].key, "");
  ASSERT_EQ(arguments[0].stages.size(), 2u);
  EXPECT_EQ(arguments[0].stages[0].arguments.at(0).number, 0.01);
  EXPECT_EQ(arguments[1].key, "bits");
  EXPECT_EQ(arguments[1].key_position, 23u);
  EXPECT_EQ(arguments[1].position, 28u);
  EXPECT_EQ(arguments[1].number, 4.0);
  EXPECT_EQ(arguments[2].stages.at(0).name, "linf");
  EXPECT_FALSE(arguments[2].number);
}

TEST(SpecGrammar, WhiteSpaceBetweenTokensMeansNothing) {
  const Spec spec = parse_spec(" \tef ( topk\n( 1 % )|natural , bits = 4 )\r\n");
  ASSERT_EQ(spec.stages.size(), 1u);
  ASSERT_EQ(spec.stages[0].arguments.size(), 2u);
  EXPECT_EQ(spec.stages[0].arguments[0].stages.at(0).arguments.at(0).number, 0.01);
  EXPECT_EQ(spec.stages[0].arguments[1].key, "bits");
}

TEST(SpecGrammar, EverySpecOfTheDesignParses) {
  for (const char* text :
       {"natural(bits=8)", "natural_dither(levels=7, norm=linf, bucket=512)",
        "qsgd(bits=4, norm=linf, bucket=512)", "randk(1%, seed=shared)",
        "ef(topk(1%), down=natural)", "diana(qsgd(bits=2, norm=linf), alpha=auto, down=none)",
        "dgc(0.1%, values=natural)", "lgreco(any)",
        "sasg(topk(1%), window=10, delay=10, weight=auto, rule=worker)",
        "direct(sign(scale=off), down=sign(scale=off))", "threshold(0.01)"}) {
    EXPECT_NO_THROW(parse_spec(text)) << text;
  }
}

double parsed_number(std::string_view number) {
  return parse_spec("a(" + std::string(number) + ")").stages.at(0).arguments.at(0).number.value();
}

TEST(SpecNumbers, AreDecimalWithOrWithoutExponent) {
  EXPECT_EQ(parsed_number("4"), 4.0);
  EXPECT_EQ(parsed_number("0.01"), 0.01);
  EXPECT_EQ(parsed_number(".5"), 0.5);
  EXPECT_EQ(parsed_number("5."), 5.0);
  EXPECT_EQ(parsed_number("1e-3"), 1e-3);
  EXPECT_EQ(parsed_number("2.5E+2"), 250.0);
  EXPECT_EQ(parsed_number("-1.5"), -1.5);
  EXPECT_FALSE(std::signbit(parsed_number("-0")));
}

TEST(SpecNumbers, PercentIsTheSameDoubleAsTheFractionWritten) {
  EXPECT_EQ(parsed_number("1%"), 0.01);
  EXPECT_EQ(parsed_number("0.7%"), 0.007);  // 0.7 / 100 is not
  EXPECT_EQ(parsed_number("7e-1%"), 0.007);
  EXPECT_EQ(parsed_number("100%"), 1.0);
}

TEST(SpecNumbers, ARangeStandsBehindAKey) {
  const auto read = [](StageReader& reader) { return reader.range("x", {0.1, 10}, 0.001, 1000); };
  for (const auto& [text, wanted] :
       {std::pair("a(x=0.5..2)", SpecRange{0.5, 2}), {"a(x=1..1)", {1, 1}}, {"a", {0.1, 10}}}) {
    const Spec spec = parse_spec(text);
    StageReader reader(spec.text, spec.stages.front());
    EXPECT_EQ(read(reader), wanted) << text;
  }
  for (const char* text : {"a(x=2..0.5)", "a(x=2)", "a(x=0..2)", "a(x=1..2000)", "a(x=word)"}) {
    EXPECT_NE(read_error(text, read).find("two numbers from 0.001 to 1000, such as 0.1..10"),
              std::string::npos)
        << text;
  }
  expect_refused("a(x=1..)", 4, "expected a decimal number");
  EXPECT_NE(read_error("a(x=1..2)", [](StageReader& reader) { reader.number("x", 0, 5); }), "");
  EXPECT_EQ(format_range({0.1, 10}), "0.1..10");
}

TEST(SpecNumbers, NotANumberInfinityAndHexadecimalAreRefused) {
  for (const char* text :
       {"a(0x10)", "a(-inf)", "a(-nan)", "a(1e999)", "a(1e99999999999)", "a(1..2)", "a(1.2.3)",
        "a(--1)", "a(+1)", "a(1e)", "a(1e+-1)", "a(.)", "a(-)", "a(1f)", "a(1_000)"}) {
    expect_refused(text, 2, "expected a decimal number");
  }
  // Without a sign these are words, and who wants a number refuses them.
  for (const char* text : {"a(x=inf)", "a(x=nan)"}) {
    EXPECT_NE(read_error(text, [](StageReader& reader) { reader.number("x", 0, 1); }), "");
  }
}

TEST(SpecErrors, SayWhatWasExpectedAndWhere) {
  expect_refused("", 0, "expected a name");
  expect_refused("   ", 3, "found the end");
  expect_refused("topk(1%) |", 10, "expected a name");
  expect_refused("| natural", 0, "expected a name");
  expect_refused("topk(1%) || natural", 10, "expected a name");
  expect_refused("topk(1%", 7, "expected ',' or ')', found the end");
  expect_refused("topk(1% 2%)", 8, "expected ',' or ')'");
  expect_refused("topk()", 5, "expected a value");
  expect_refused("topk(1%,)", 8, "expected a value");
  expect_refused("qsgd(bits=)", 10, "expected a value");
  expect_refused("qsgd(bits=4,)", 12, "expected a value");
  expect_refused("topk(1%))", 8, "expected '|' or the end, found ')'");
  expect_refused("natural natural", 8, "expected '|' or the end");
  expect_refused("Natural", 0, "lower-case");
  expect_refused("4bit", 0, "expected a name");
  expect_refused("nat\xc3\xbcrlich", 3, "not printable ASCII");
  expect_refused(std::string_view("a\0b", 3), 1, "not printable ASCII");
}

TEST(SpecErrors, KeysComeOnceAndAfterValuesWithoutKey) {
  expect_refused("qsgd(bits=4, bits=8)", 13, "'bits' is given twice");
  expect_refused("qsgd(bits=4, 8)", 13, "must come before");
  expect_refused("ef(down=natural, topk(1%))", 17, "must come before");
}

TEST(SpecErrors, ShowTheTextWithAMarkUnderThePosition) {
  EXPECT_STREQ(parse_error("topk(1%) | 7").what(),
               "expected a name (lower-case letters, digits and '_'), found '7'\n"
               "  topk(1%) | 7\n"
               "             ^");
}

TEST(SpecErrors, ShowOneLineOfBoundedLengthWhateverTheText) {
  const std::string text = std::string(1000, 'a') + "\n\x01\x80 !" + std::string(1000, 'b');
  const std::string message = parse_error(text).what();
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2);
  EXPECT_LT(message.size(), 400u);
  const std::size_t shown = message.find('\n') + 1;
  const std::size_t mark = message.rfind('\n') + 1;
  EXPECT_EQ(message[shown + message.find('^', mark) - mark], '?');
}

TEST(SpecBounds, LongTextIsRefused) {
  EXPECT_NO_THROW(parse_spec(std::string(kSpecBytesMax, 'a')));
  expect_refused(std::string(kSpecBytesMax + 1, 'a'), kSpecBytesMax, "at most 4096 bytes");
}

TEST(SpecBounds, DeepNestingIsRefused) {
  const auto nested = [](std::size_t depth) {
    std::string text = "a";
    for (std::size_t i = 1; i < depth; ++i) text = "a(" + text + ")";
    return text;
  };
  EXPECT_NO_THROW(parse_spec(nested(kSpecDepthMax)));
  expect_refused(nested(kSpecDepthMax + 1), 2 * kSpecDepthMax - 1, "nest at most 32 deep");
  std::string open;
  for (int i = 0; i < 2000; ++i) open += "a(";
  expect_refused(open, 2 * kSpecDepthMax - 1, "nest at most 32 deep");
}

TEST(SpecBounds, RandomTextGivesATreeOrASpecError) {
  const std::string_view alphabet = "ab1.%()|,= -e_X\n";
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    try {
      parse_spec(text);
    } catch (const SpecError& error) {
      ASSERT_LE(error.position(), text.size());
    }
  }
}

TEST(NearestName, FindsTyposAndLeavesStrangersAlone) {
  const std::vector<std::string> known = {"natural", "qsgd", "topk", "terngrad", "sign", "fp16"};
  EXPECT_EQ(nearest_name("naturl", known), "natural");
  EXPECT_EQ(nearest_name("natrual", known), "natural");
  EXPECT_EQ(nearest_name("qsdg", known), "qsgd");
  EXPECT_EQ(nearest_name("top_k", known), "topk");
  EXPECT_EQ(nearest_name("terngard", known), "terngrad");
  EXPECT_EQ(nearest_name("fp61", known), "fp16");
  EXPECT_EQ(nearest_name("zlib", known), std::nullopt);
  EXPECT_EQ(nearest_name("x", {"y"}), std::nullopt);
  EXPECT_EQ(nearest_name("", known), std::nullopt);
  EXPECT_EQ(nearest_name("topk", {}), std::nullopt);
}

TEST(FormatNumber, IsTheShortestTextThatParsesBack) {
  EXPECT_EQ(format_number(0.01), "0.01");
  EXPECT_EQ(format_number(512), "512");
  EXPECT_EQ(format_number(2.5), "2.5");
  EXPECT_EQ(parsed_number(format_number(1e-300)), 1e-300);
}

TEST(FormatShare, IsThePercentageThatParsesBack) {
  EXPECT_EQ(format_share(0.01), "1%");
  EXPECT_EQ(format_share(0.001), "0.1%");
  EXPECT_EQ(format_share(1), "100%");
  EXPECT_EQ(format_share(0.5), "50%");
  EXPECT_EQ(format_share(0.125), "12.5%");
  EXPECT_EQ(format_share(0.007), "0.7%");
  EXPECT_EQ(format_share(0.000025), "0.0025%");
  EXPECT_EQ(format_share(2.5e-12), "2.5e-10%");
}

TEST(FormatShare, RoundTripsEveryDoubleTried) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100'000; ++round) {
    const int magnitude = static_cast<int>(random() % 40);
    const double share = std::ldexp(static_cast<double>(random() >> 11 | 1), -53 - magnitude);
    ASSERT_EQ(parsed_number(format_share(share)), share) << format_share(share);
  }
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(parsed_number(format_share(tiny)), tiny);
}

TEST(StageReader, ReadsEveryKindOfArgument) {
  const Spec spec = parse_spec("stage(1%, bits=4, norm=linf, clip=off, weight=2.5)");
  StageReader reader(spec.text, spec.stages[0]);
  EXPECT_EQ(reader.share("share"), 0.01);
  EXPECT_EQ(reader.integer("bits", 8, 2, 8), 4);
  EXPECT_EQ(reader.word("norm", {"l2", "linf"}), "linf");
  EXPECT_EQ(reader.number_or_off("clip", 2.5, 0, 10), std::nullopt);
  EXPECT_EQ(reader.number("weight", 0, 3), 2.5);
  EXPECT_NO_THROW(reader.finish());
}

TEST(StageReader, GivesDefaultsForWhatIsNotThere) {
  const Spec spec = parse_spec("stage");
  StageReader reader(spec.text, spec.stages[0]);
  EXPECT_EQ(reader.integer("bits", 8, 2, 8), 8);
  EXPECT_EQ(reader.word("norm", {"l2", "linf"}), "l2");
  EXPECT_EQ(reader.number_or_off("clip", 2.5, 0, 10), 2.5);
  EXPECT_EQ(reader.number("weight", 0, 1), std::nullopt);
  EXPECT_NO_THROW(reader.finish());
}

TEST(StageReader, ShareAndNumberMayComeByKeyOrFirst) {
  for (const char* text : {"stage(0.25)", "stage(25%)", "stage(x=0.25)", "stage(x=25%)"}) {
    const Spec spec = parse_spec(text);
    StageReader as_share(spec.text, spec.stages[0]);
    EXPECT_EQ(as_share.share("x"), 0.25) << text;
    StageReader as_number(spec.text, spec.stages[0]);
    EXPECT_EQ(as_number.number("x", 0, 1), 0.25) << text;
  }
}

TEST(StageReader, RefusesWhatIsOutOfRangeOrOfAnotherKind) {
  const auto share = [](StageReader& reader) { reader.share("share"); };
  for (const char* text : {"t(0)", "t(0%)", "t(-1%)", "t(101%)", "t(1.01)", "t(one)", "t(a|b)"}) {
    EXPECT_NE(read_error(text, share).find("must be above 0 and at most 1"), std::string::npos);
  }
  EXPECT_NE(read_error("t", share).find("'t' needs its share"), std::string::npos);

  const auto bits = [](StageReader& reader) { reader.integer("bits", 8, 2, 8); };
  for (const char* text : {"t(bits=1)", "t(bits=9)", "t(bits=2.5)", "t(bits=400%)", "t(bits=four)",
                           "t(bits=1e300)", "t(bits=-4)"}) {
    EXPECT_NE(read_error(text, bits).find("'bits' must be a whole number from 2 to 8"),
              std::string::npos);
  }

  const auto clip = [](StageReader& reader) {
    reader.number_or_off("clip", 1, 0.5, std::numeric_limits<double>::infinity());
  };
  for (const char* text : {"t(clip=0.1)", "t(clip=on)", "t(clip=off(1))", "t(clip=off|off)"}) {
    EXPECT_NE(read_error(text, clip).find("a number of at least 0.5"), std::string::npos);
  }
}

TEST(StageReader, OffersTheNearestWordAndTheNearestKey) {
  EXPECT_EQ(read_error("qsgd(norm=lnif)",
                       [](StageReader& reader) {
                         reader.word("norm", {"l2", "linf"});
                       }),
            "'norm' must be one of 'l2', 'linf'; did you mean 'linf'?\n"
            "  qsgd(norm=lnif)\n"
            "            ^");
  EXPECT_EQ(read_error("qsgd(bit=4)", [](StageReader& reader) { reader.integer("bits", 8, 2, 8); }),
            "'qsgd' takes 'bits', not 'bit'; did you mean 'bits'?\n"
            "  qsgd(bit=4)\n"
            "       ^");
}

TEST(StageReader, FinishRefusesWhatNobodyAskedFor) {
  const auto nothing = [](StageReader&) {};
  EXPECT_NE(read_error("fp16(4)", nothing).find("'fp16' takes no arguments"), std::string::npos);
  const auto bits = [](StageReader& reader) { reader.integer("bits", 8, 2, 8); };
  EXPECT_NE(read_error("qsgd(4)", bits).find("this value needs a key"), std::string::npos);
  const auto share = [](StageReader& reader) { reader.share("share"); };
  EXPECT_NE(read_error("topk(1%, 2%)", share).find("this value needs a key"), std::string::npos);
  EXPECT_NE(read_error("topk(1%, share=2%)", share).find("'share' is given twice"),
            std::string::npos);
}

TEST(StageReader, ErrorsOfItsOwnerPointAtTheArgumentOrElseAtTheStage) {
  const Spec spec = parse_spec("natural | topk(1%)");
  StageReader reader(spec.text, spec.stages[1]);
  reader.share("share");
  try {
    reader.fail_argument("share", "too much");
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_EQ(error.position(), 15u);
  }
  try {
    reader.fail_argument("seed", "not given");
    FAIL();
  } catch (const SpecError& error) {
    EXPECT_EQ(error.position(), 10u);
  }
}

}  // namespace
}  // namespace gradwire
