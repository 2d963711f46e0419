// From the text of a subscription to its events, for both transports: the same bounds and the same errors.
import { setTimeout as sleep } from "node:timers/promises";
import { subscribe as subscribeWithGrafast } from "postgraphile/grafast";
import type { ErrorBehavior } from "postgraphile/grafast";
import { getOperationAST, Kind, OperationTypeNode, separateOperations } from "postgraphile/graphql";
import type {
  DocumentNode,
  ExecutionArgs,
  ExecutionResult,
  FragmentDefinitionNode,
  GraphQLError,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import type { LoopTurns } from "../loop-turns.ts";
import type { LiveFeed, Party, Topic } from "../live/feed.ts";
import { measure } from "./measure.ts";
import type { TextCache } from "./texts.ts";

/** A request for a subscription, as it was sent. */
export type Asked = {
  query: string;
  operationName?: string | null | undefined;
  variables?: Record<string, unknown> | null | undefined;
  onError?: ErrorBehavior | null | undefined;
};

/**
 * Grafast pulls changes as fast as it can, and buffers what the client has not read. So it is given only a
 * few at a time, and the next one when one of them has been sent.
 */
class Pace {
  readonly #party: Party;
  readonly #turns: LoopTurns;
  readonly #ended: AbortSignal;
  #underWay = 0;

  constructor(party: Party, turns: LoopTurns, ended: AbortSignal) {
    this.#party = party;
    this.#turns = turns;
    this.#ended = ended;
  }

  /** @throws ServiceBusy */
  async next(): Promise<void> {
    do {
      // A thousand subscriptions may wait for one connection, so they must not all poll every few
      // milliseconds.
      let waitMs = 0;
      for (; !this.#ended.aborted && this.#isFull(); waitMs = longer(waitMs)) await sleep(waitMs);
      if (this.#ended.aborted) return;
      // One change may mean a thousand events, so they take turns. By then other subscriptions may have
      // filled the connection, so it is checked again.
      await this.#turns.take(this.#party.identity().id, this.#ended);
    } while (this.#isFull());
    this.#underWay += 1;
  }

  taken(): void {
    this.#underWay -= 1;
  }

  #isFull(): boolean {
    return this.#underWay >= UNDER_WAY || !this.#party.isReady();
  }
}

const UNDER_WAY = 20;
const PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;

function longer(waitedMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, 2 * waitedMs));
}

/** Each change goes to thousands of subscribers, so the size of an event is bounded by that of a record. */
const TWICE = "A subscription may request each field under one name only; do not repeat it under an alias.";
const CONDITIONAL = "The field of a subscription must not be conditional (@skip, @include).";

/**
 * Whether @skip or @include makes the subscription's only field conditional, which GraphQL does not allow.
 */
function isConditional(document: DocumentNode, operationName: string | null | undefined): boolean {
  const within = ({ selections }: SelectionSetNode): boolean =>
    selections.some((node) => {
      if (node.directives?.some(({ name }) => ["skip", "include"].includes(name.value))) return true;
      if (node.kind === Kind.INLINE_FRAGMENT) return within(node.selectionSet);
      if (node.kind !== Kind.FRAGMENT_SPREAD) return false;
      const spread = document.definitions.find(
        (each) => each.kind === Kind.FRAGMENT_DEFINITION && each.name.value === node.name.value,
      );
      return within((spread as FragmentDefinitionNode).selectionSet);
    });
  return within(getOperationAST(document, operationName)!.selectionSet);
}

/** Only the declared variables: others may be sent, and would be kept as long as the subscription. */
function declaredOf(operation: OperationDefinitionNode, given: Record<string, unknown>) {
  const names = new Set(operation.variableDefinitions?.map(({ variable }) => variable.name.value));
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
}

/** The events of a subscription, or errors if there are none. */
export type Events = AsyncGenerator<ExecutionResult, void, undefined>;

export class Subscriptions {
  readonly #feed: LiveFeed;
  readonly #turns: LoopTurns;
  readonly #texts: TextCache;
  readonly #schema: GraphQLSchema;
  readonly #resolvedPreset: GraphileConfig.ResolvedPreset;
  readonly #publicError: (error: unknown) => GraphQLError;

  constructor(parts: {
    feed: LiveFeed;
    /** turns of the event loop, for events as well as for preparing texts */
    turns: LoopTurns;
    texts: TextCache;
    schema: GraphQLSchema;
    resolvedPreset: GraphileConfig.ResolvedPreset;
    publicError: (error: unknown) => GraphQLError;
  }) {
    this.#feed = parts.feed;
    this.#turns = parts.turns;
    this.#texts = parts.texts;
    this.#schema = parts.schema;
    this.#resolvedPreset = parts.resolvedPreset;
    this.#publicError = parts.publicError;
  }

  /** An error as subscribers see it. */
  refusal(error: unknown): GraphQLError {
    return this.#publicError(error);
  }

  /** What a transport library subscribes with, or the errors of the request. */
  prepare(
    { query, operationName, variables, onError }: Asked,
    party: Party,
  ): ExecutionArgs | readonly GraphQLError[] {
    const { document, errors } = this.#texts.parse(query);
    if (errors) return errors;
    try {
      const operation = getOperationAST(document, operationName);
      if (!operation) {
        throw new ApiError("validation_failed", {
          message: "operationName must name the operation to answer.",
        });
      }
      if (operation.operation !== OperationTypeNode.SUBSCRIPTION) {
        throw new ApiError("validation_failed", {
          message:
            "Only subscriptions are answered with events: send queries and mutations to /graphql with POST, accepting application/json.",
        });
      }
      const named = operationName ?? undefined;
      const { copies } = measure(this.#schema, document, named, variables ?? {}, new Map());
      if (copies > 1) throw new ApiError("validation_failed", { message: TWICE });
      if (isConditional(document, operationName))
        throw new ApiError("validation_failed", { message: CONDITIONAL });
      return {
        schema: this.#schema,
        document: separateOperations(document)[operation.name?.value ?? ""]!,
        operationName: operationName ?? null,
        variableValues: declaredOf(operation, variables ?? {}),
        contextValue: { party },
        ...(onError && { onError }),
      };
    } catch (error) {
      return [this.#publicError(error)];
    }
  }

  /** Begins a subscription. If it fails later on, the error is its last event. */
  subscribe = async (args: ExecutionArgs): Promise<Events | ExecutionResult> => {
    const { party } = args.contextValue as { party: Party };
    const ended = new AbortController();
    let failure: unknown;
    const feed = this.#feed;
    const pace = new Pace(party, this.#turns, ended.signal);
    const changes = {
      // Not thrown through Grafast and the transport, which would lose the error's code.
      async *subscribe(topic: string) {
        try {
          for await (const change of feed.changes(JSON.parse(topic) as Topic, party, ended.signal)) {
            await pace.next();
            yield change;
          }
        } catch (error) {
          failure = error;
        }
      },
    };
    const result = await subscribeWithGrafast({
      ...args,
      contextValue: { changes },
      resolvedPreset: this.#resolvedPreset,
    });
    if (!(Symbol.asyncIterator in result)) {
      return { ...result, ...(result.errors && { errors: result.errors.map(this.#publicError) }) };
    }
    const publicError = this.#publicError;
    async function* told(events: AsyncIterable<ExecutionResult>): Events {
      for await (const event of events) {
        yield event.errors ? { ...event, errors: event.errors.map(publicError) } : event;
        pace.taken();
      }
      if (failure !== undefined && !ended.signal.aborted) yield { errors: [publicError(failure)] };
    }
    const events = told(result as AsyncIterable<ExecutionResult>);
    const end = events.return.bind(events);
    // By itself, return() would first wait for the next event.
    return Object.assign(events, {
      return: () => {
        ended.abort();
        return end();
      },
    });
  };
}
