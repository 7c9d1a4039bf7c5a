/** Texts that are JSON and texts that are not, in the manner of JSONTestSuite. A Buffer where a string could not say it. */

const latin1 = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, "latin1"));

// biome-ignore format: a table
export const VALID: (string | Buffer)[] = [
  "0", "-0", "1", "-1", "10", "1.5", "-0.0", "1e5", "1E5", "1e+5", "1e-05", "0e0", "1.0e1", "123456789012345678901234567890", "1e999",
  "true", "false", "null", '""', '"a"', "[]", "{}", "[ ]", "{ }", " \t\r\n1 \t\r\n", "[\n1\r,\t2 ]", '{ "a" : 1 , "b" : [ ] }',
  '{"a":1,"a":2}', '{"":0}', '{"__proto__":1}', '[[],{},[{}],{"a":[]}]', '[1,"a",true,null,{"b":{"c":[false]}}]',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\"b"', '"\\u0041\\u00e4\\uABCD\\uabcd"', '"\\ud83c\\udf89"', '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"',
  '"/"', '"\x7f"', '"\u0080"', '"\u07ff"', '"\u0800"', '"\ud7ff"', '"\ue000"', '"\uffff"', '"\u{10000}"', '"\u{10ffff}"', '"\ufeff"',
  '"\u2028\u2029"', '"\u00a0"', "\ufeff1", "\ufeff {}", `"${"x".repeat(15)}"`, `"${"x".repeat(16)}"`, `"${"ä".repeat(40)}"`,
  `"${"\\n".repeat(40)}"`, `"${"日".repeat(7)}🎉"`,
];

// biome-ignore format: a table
export const INVALID: (string | Buffer)[] = [
  "", " ", "\t\r\n ", "\ufeff", "\ufeff\ufeff1", " \ufeff1", "1\ufeff", "[\ufeff]",
  "01", "-01", "00", "-", "--1", "+1", ".5", "-.5", "1.", "1.e1", "1e", "1E", "1e+", "1e-", "1e1.5", "1.5.5", "0x10", "1_000", "1a",
  "0-", "1 2", "1,", "١", "NaN", "-NaN", "Infinity", "-Infinity", "undefined",
  "nul", "nulll", "tru", "True", "TRUE", "fals", "falsey", "t", "f", "n", "truefalse",
  "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1]]", "[]]", "[[]", "[}", "{]", "[1}", '{"a":1]', "{}{}", "[][]",
  "[1],", "[:]", '{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1 "b":2}', '{"a" 1}', '{"a"::1}', "{a:1}", "{'a':1}", "{1:1}",
  '{"a":1,,"b":2}', '{"a":1:2}', "{[]:1}",
  "'a'", '"', '"a', 'a"', '"a"b', '"a""b"', '"\\"', '"\\', '"\\x41"', '"\\a"', '"\\v"', '"\\0"', '"\\\'"', '"\\ "', '"\\N"', '"\\b',
  '"\\ä"', '"\\u"', '"\\u1"', '"\\u12"', '"\\u123"', '"\\u123g"', '"\\u123"5', '"\\U0041"', '"\\u 041"', '"\\u+041"', '"\\u00:0"',
  '"\\u00`0"', '"\\u00G0"', '"\\u00@0"',
  '"\n"', '"\t"', '"\r"', '"\0"', '"\x1f"', '"a\x01b"', "\0", "1\0", "[\0]", '{"a\n":1}', "\x7f", "\x0b1", "\x0c1", "\u00a01",
  "\u20281", "1\u3000", "\u0085[]",
  "// comment\n1", "1 // comment", "/* comment */1", "1/**/", "#1", "[1]/", "{}//", "\\u0031", "\x1b[0m{}", "<html>", "Error: {}",
  ...latin1('"\x80"', '"\xbf"', '"\xc0\x80"', '"\xc1\xbf"', '"\xc3"', '"\xc3', '"\xc3\xc3\xa4"', '"\xff"', '"\xfe"'),
  ...latin1('"\xe0\x80\x80"', '"\xe0\x9f\xbf"', '"\xe6\x97"', '"\xe6\x97', '"\xe6"', '"\xed\xa0\x80"', '"\xed\xbf\xbf"'),
  ...latin1('"\xe6\x97\xa5\xa5"', '"\xed\xa0\xbc\xed\xbe\x89"', '"\xf0\x80\x80\x80"', '"\xf0\x8f\xbf\xbf"', '"\xf4\x90\x80\x80"'),
  ...latin1('"\xf5\x80\x80\x80"', '"\xf7\xbf\xbf\xbf"', '"\xf8\x88\x80\x80\x80"', '"\xf0\x9f\x8e"', '"\xf0\x9f\x8e', '"\xf0\x9f"'),
  ...latin1('"\xf0"', '"\xf0\x9f\x8e\x89\x89"', "\xef\xbb1", "\xefbb1"),
];
