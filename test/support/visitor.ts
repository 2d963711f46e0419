// A browser as far as signing in is concerned: it keeps cookies, says which site asks, and follows no redirect by itself.
import type { TestService } from "./service.ts";

type Page = { status: number; headers: Headers; text: string; location: string | null; cookies: string[] };
/** Whatever the wire says. */
type Json = any; // oxlint-disable-line typescript/no-explicit-any -- tests look into it freely
type Options = { method?: string; headers?: Record<string, string>; body?: string };

type Service = Pick<TestService, "url"> & { database: Pick<TestService["database"], "owner"> };

export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #service: Service;
  readonly #headers: Record<string, string>;

  /** @param headers sent with every request, such as those of a proxy */
  constructor(service: Service, headers: Record<string, string> = {}) {
    this.#service = service;
    this.#headers = headers;
  }

  async open(path: string, { headers, ...options }: Options = {}): Promise<Page> {
    const response = await fetch(new URL(path, this.#service.url), {
      ...options,
      redirect: "manual",
      headers: {
        "sec-fetch-site": "same-origin",
        ...(this.cookies.size > 0 && { cookie: [...this.cookies].map((pair) => pair.join("=")).join("; ") }),
        ...this.#headers,
        ...headers,
      },
    });
    const cookies = response.headers.getSetCookie();
    for (const cookie of cookies) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const location = response.headers.get("location");
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location,
      cookies,
    };
  }

  /** Sends the form of a page, with what is hidden in it. */
  async submit(
    page: Pick<Page, "text">,
    path: string,
    fields: Record<string, string>,
    options: Options = {},
  ) {
    const hidden = [...page.text.matchAll(/<input name="(\w+)" type="hidden" value="([^"]*)"/g)];
    const body = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name, value]) => [name, value?.replaceAll("&amp;", "&")])),
      ...fields,
    }).toString();
    return this.open(path, {
      method: "POST",
      ...options,
      body,
      headers: { "content-type": "application/x-www-form-urlencoded", ...options.headers },
    });
  }

  /** Asks for a link and returns its path, as the mail has it. */
  async linkFor(email: string, returnTo = "/"): Promise<string> {
    const query = new URLSearchParams({ returnTo });
    const answer = await this.submit(await this.open(`/sign-in?${query.toString()}`), "/sign-in", { email });
    if (answer.status !== 303) throw new Error(`${answer.status}: ${answer.text}`);
    const { rows } = await this.#service.database.owner.query<{ link: string }>(
      `select data ->> 'link' as link from app_private.mails
       where kind = 'sign_in' and recipient = $1 order by created_at desc limit 1`,
      [email],
    );
    const { pathname, search } = new URL(rows[0]!.link);
    return `${pathname}${search}`;
  }

  /** Signs in by a link. */
  async signIn(email: string): Promise<this> {
    const { status } = await this.open(await this.linkFor(email));
    if (status !== 303) throw new Error(`the link is answered with ${status}`);
    return this;
  }

  /** Sends a request as a page of the service would. */
  async call(path: string, body?: object, headers: Record<string, string> = {}) {
    const page = await this.open(path, {
      method: body ? "POST" : "GET",
      headers: { "x-session-request": "1", ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: Json = JSON.parse(page.text);
    return { ...page, body: answer };
  }
}
