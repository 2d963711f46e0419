// What an expression of PromQL asks for.
import { parser } from "@prometheus-io/lezer-promql";

/** What stands between a selector and the whole expression, from the inside out, and by which labels it is told apart. */
type Around = { calls: string[]; by: string[] | undefined };

/** One metric that is asked for. */
export type Selected = Around & {
  metric: string;
  /** which of its series: by label, how, and the text that is compared with */
  matchers: { label: string; operator: string; value: string }[];
};

type Tree = ReturnType<typeof parser.parse>;
type Node = Tree["topNode"];

const child = (node: Node, name: string) => node.getChild(name)?.node;
const UNQUOTED = /^["'](.*)["']$/;

/**
 * The metrics of an expression, in order.
 * @throws where it is not PromQL
 */
export function selectedBy(expression: string): Selected[] {
  // What Grafana puts in the place of its variable.
  const text = expression.replaceAll("$__rate_interval", "5m");
  const said = (node: Node) => text.slice(node.from, node.to);
  const found: Selected[] = [];
  const around = (from: Node): Around => {
    const calls: string[] = [];
    let by: string[] | undefined;
    for (let node: Node | null = from.parent; node; node = node.parent) {
      const name = child(node, "FunctionIdentifier") ?? child(node, "AggregateOp");
      if (name) calls.push(said(name));
      const modifier = child(node, "AggregateModifier");
      // What is told apart inside cannot be told apart again outside: the innermost says which labels there are left.
      if (node.name === "AggregateExpr")
        by ??= modifier
          ? (modifier.getChild("GroupingLabels")?.getChildren("LabelName") ?? []).map((each) =>
              said(each.node),
            )
          : [];
    }
    return { calls, by };
  };
  parser.parse(text).iterate({
    enter: ({ type, name, from, node }) => {
      if (type.isError) throw new Error(`${expression}: not PromQL from ${text.slice(from)}`);
      if (name !== "VectorSelector") return;
      const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
      found.push({
        metric: said(child(node, "Identifier")!),
        matchers: matchers.map((matcher) => ({
          label: said(child(matcher, "LabelName")!),
          operator: said(child(matcher, "MatchOp")!),
          value: UNQUOTED.exec(said(child(matcher, "StringLiteral")!))![1]!,
        })),
        ...around(node),
      });
    },
  });
  return found;
}
