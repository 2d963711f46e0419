// The parser of SPARQL, with what it reads otherwise than the recommendation and the engines put right: a text
// must not be one thing to the guard and another to the store.
import { sparql12ParserBuilder } from "@traqula/parser-sparql-1-2";
import { AstFactory, completeParseContext, copyParseContext, lex } from "@traqula/rules-sparql-1-2";

type Build = Parameters<typeof sparql12ParserBuilder.build>[0];
type Rule = ReturnType<typeof sparql12ParserBuilder.getRule<"prefixedName">>;
type Token = Build["tokenVocabulary"][number];

const BETWEEN = /(?:[\t\n\r ]|#[^\r\n]*[\r\n])*/.source;
const PATTERNS: Readonly<Record<string, RegExp>> = {
  // A digit before the point may be left out.
  Decimal: /\d*\.\d+/,
  DecimalPositive: /\+\d*\.\d+/,
  DecimalNegative: /-\d*\.\d+/,
  // Ends with a carriage return as well.
  Comment: /#[^\r\n]*/,
  // Two words, with anything between them that may be between words.
  NotIn: new RegExp(`not${BETWEEN}in`, "i"),
  BuiltInNotexists: new RegExp(`not${BETWEEN}exists`, "i"),
};

// A copy is the same token to the grammar, which knows it by its number.
const tokenVocabulary = lex.sparql12LexerBuilder.tokenVocabulary.map((token) => {
  const pattern = PATTERNS[token.name];
  return pattern ? { ...token, PATTERN: pattern } : token;
});
const tokenNamed = (name: string): Token => tokenVocabulary.find((token) => token.name === name)!;

/** Everything behind the first colon is the name, which may have colons too. */
const prefixedName: Rule = {
  name: "prefixedName",
  impl:
    ({ ACTION, CONSUME, OR }) =>
    (context) => {
      const named = (kind: Token) => {
        const token = CONSUME(kind);
        return ACTION(() => {
          const { astFactory, prefixes } = context;
          const [, prefix, name] = /^([^:]*):(.*)$/s.exec(token.image)!;
          if (prefixes[prefix!] === undefined) throw new Error(`Unknown prefix: ${prefix}`);
          return astFactory.termNamed(astFactory.sourceLocation(token), name!, prefix!);
        });
      };
      return OR(["PNameLn", "PNameNs"].map((name) => ({ ALT: () => named(tokenNamed(name)) })));
    },
};

/** Calls an operator of two words by one name, whatever is between them. */
class NormalizingFactory extends AstFactory {
  override formatOperator(written: string): string {
    return super.formatOperator(written.replace(/^not.*?(in|exists)$/is, "not$1"));
  }
}

/** @returns reads a query or an update, and keeps the positions of its nodes in the text */
export function sparqlParser(
  options: Pick<Build, "lexerConfig" | "errorHandler">,
): (text: string) => Record<string, unknown> {
  const { queryOrUpdate } = sparql12ParserBuilder
    .patchRule(prefixedName)
    .build({ ...options, tokenVocabulary });
  const context = completeParseContext({ astFactory: new NormalizingFactory() });
  return (text) => queryOrUpdate(text, copyParseContext(context)) as unknown as Record<string, unknown>;
}
