import type { z } from 'zod';
import type { Answer, AdminCaller, Asked, Page } from '../page.ts';
import { ApiProblem, problem } from './problem.ts';

/** A request for an operation, read and checked. */
export interface ApiRequest<Body> {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Asked['headers'];
  readonly body: Body;
  readonly caller: AdminCaller;
}

/** The parts of every operation of the API. Routing, the list of pages and the description are derived from it. */
interface Row {
  readonly method: Page['method'];
  /** A segment `{name}` stands for a parameter. */
  readonly path: string;
  /** A short description, on one line. */
  readonly about: string;
  readonly access: Exclude<Page['access'], 'anyone' | 'public' | 'login'>;
  readonly readsOnly?: true;
  /** Parameters of the path and the query, with their descriptions. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Request headers, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Refusals besides 400, 401, 403, 413 and 415, by status. */
  readonly refusals?: Readonly<Record<number, string>>;
}

/** A row of the table of operations, whatever its types are. */
export interface ApiOperation extends Row {
  readonly body: z.ZodType | undefined;
  /** Undefined: the answer is 204 without a body. */
  readonly result: z.ZodType | undefined;
  /** The answer is a stream of server-sent events. */
  readonly isStream: boolean;
  readonly page: Page;
}

/** Values of a shape: their lists may be readonly, and objects may have more members. */
type ValueOf<T> = T extends readonly (infer Entry)[]
  ? readonly ValueOf<Entry>[]
  : T extends object
    ? { readonly [Name in keyof T as string extends Name ? never : Name]: ValueOf<T[Name]> }
    : T;

interface JsonRow<Body extends z.ZodType, Result extends z.ZodType> extends Row {
  readonly body?: Body;
  /** Bytes of a body. */
  readonly maxBody?: number;
  /** The shape of the answer. */
  readonly result: Result;
  /** @throws ApiProblem for a refusal */
  readonly run: (
    request: ApiRequest<z.output<Body>>,
  ) => Promise<ValueOf<z.input<Result>>> | ValueOf<z.input<Result>>;
  /** Headers of the answer. */
  readonly answerHeaders?: (result: ValueOf<z.input<Result>>) => Readonly<Record<string, string>>;
}

/** Bytes of a body unless its operation says otherwise. */
const usualBody = 1_048_576;

/** An operation that answers with JSON. */
export function operation<Body extends z.ZodType, Result extends z.ZodType>(
  row: JsonRow<Body, Result>,
): ApiOperation {
  const { body, maxBody = usualBody, result, run, answerHeaders, ...rest } = row;
  const answer = guarded<z.output<Body>>(
    body as z.ZodType<z.output<Body>> | undefined,
    async (request: ApiRequest<z.output<Body>>) => {
      const value = await run(request);
      return {
        status: 200,
        body: `${JSON.stringify(value)}\n`,
        type: 'application/json',
        headers: answerHeaders?.(value) ?? {},
      };
    },
  );
  const page = { ...pageOf(rest), answer, ...(body && { maxBody }) };
  return { ...rest, body, result, isStream: false, page };
}

/** An operation without a body in either direction; it answers 204. */
export function emptyOperation(
  row: Row & { readonly run: (request: ApiRequest<undefined>) => Promise<EmptyAnswer> | EmptyAnswer },
): ApiOperation {
  const { run, ...rest } = row;
  const answer = guarded(undefined, async (request) => ({
    status: 204,
    body: '',
    headers: (await run(request as ApiRequest<undefined>)) ?? {},
  }));
  return {
    ...rest,
    body: undefined,
    result: undefined,
    isStream: false,
    page: { ...pageOf(rest), answer },
  };
}

/** Headers of an answer without a body. */
type EmptyAnswer = Readonly<Record<string, string>> | undefined;

/** An operation that answers with server-sent events. */
export function streamOperation<Body extends z.ZodType = z.ZodUndefined>(
  row: Row & {
    readonly body?: Body;
    readonly maxBody?: number;
    readonly run: (request: ApiRequest<z.output<Body>>) => Promise<Answer> | Answer;
  },
): ApiOperation {
  const { run, body, maxBody = usualBody, ...rest } = row;
  const answer = guarded<z.output<Body>>(
    body as z.ZodType<z.output<Body>> | undefined,
    async (request) => await run(request),
  );
  const page = { ...pageOf(rest), answer, ...(body && { maxBody }) };
  return { ...rest, body, result: undefined, isStream: true, page };
}

const pageOf = ({ method, path, about, access, readsOnly }: Row): Omit<Page, 'answer'> => ({
  method,
  path,
  about,
  access,
  ...(readsOnly && { readsOnly }),
});

/** Reads the body, and answers refusals with problem documents. */
function guarded<Body>(
  schema: z.ZodType<Body> | undefined,
  run: (request: ApiRequest<Body>) => Promise<Answer>,
): Page['answer'] {
  return async ({ parameters, query, headers, body: text, caller }) => {
    // The access of every operation demands a caller.
    if (caller === undefined) return problem({ status: 401, detail: 'this needs a login' });
    try {
      const body = bodyOf(schema, headers['content-type'], text);
      return await run({ parameters, query, headers, body, caller });
    } catch (error) {
      if (error instanceof ApiProblem) return problem(error.details);
      throw error;
    }
  };
}

/** @throws ApiProblem */
function bodyOf<Body>(schema: z.ZodType<Body> | undefined, type: string | undefined, text: string): Body {
  if (schema === undefined) return undefined as Body;
  // Forms of other sites cannot send this type.
  if (!/^application\/json\s*(?:;|$)/i.test(type ?? ''))
    throw new ApiProblem(415, 'the body must be application/json');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiProblem(400, 'the body is not JSON');
  }
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const problems = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const [first] = problems;
  throw new ApiProblem(
    400,
    `${first?.path === '' ? 'the body' : (first?.path ?? '')}: ${first?.message ?? ''}`,
    {
      problems,
    },
  );
}
