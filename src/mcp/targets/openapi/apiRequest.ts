import { renderLines, type HeaderLine } from '../../../http/index.ts';
import type { ApiOperation, ApiParameter, ParameterPlace } from '../../../model/index.ts';
import { authorityOf } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { writeBody, type WrittenBody } from './bodyText.ts';
import { ArgumentError, readArguments, type CallArguments, type Values } from './callArguments.ts';
import { framingFields } from '../description/serverFields.ts';
import { typeOf } from './longNumber.ts';
import { checkMembers } from './memberNames.ts';
import { isGiven, simpleText } from './parameterText.ts';
import { cookieText, expandPath, queryText } from './apiTarget.ts';

/** A request of the API, ready to be sent. */
export interface ApiRequest {
  /** Request line and fields with the empty line, one character a byte. */
  readonly head: string;
  readonly body: Buffer | undefined;
}

const none: Values = new Map();
const noBody = Buffer.alloc(0);

/**
 * The request that a call becomes.
 * @param text the arguments as the client wrote them
 * @param usesServerPath the configuration gives no path of its own
 * @throws ArgumentError
 */
export function apiRequest(
  operation: ApiOperation,
  text: string | undefined,
  reach: Reach,
  usesServerPath: boolean,
): ApiRequest {
  const given = readArguments(text, groupsOf(operation));
  checkRequired(operation, given);
  for (const [place, values] of given.places) checkValues(operation, place, values);
  const valuesOf = (place: ParameterPlace): Values => given.places.get(place) ?? none;
  const [base = '', query = ''] = splitOnce(reach.path, '?');
  const path = expandPath(operation, valuesOf('path'));
  const search = queryText(query, operation, valuesOf('query'), credentialsAt(reach, 'query'));
  const folder = base.replace(/\/+$/, '') + (usesServerPath ? operation.serverPath : '');
  const target = `${folder}${path}${search === '' ? '' : `?${search}`}`;
  const body =
    operation.body === undefined || given.body === undefined
      ? undefined
      : writeBody(operation.body, given.body);
  const lines = headerLines(operation, reach, valuesOf('header'), valuesOf('cookie'), body);
  const head = `${operation.method} ${target} HTTP/1.1\r\n${renderLines(lines)}\r\n`;
  const bytes = body?.bytes;
  return { head: reach.signer?.sign(head, bytes ?? noBody) ?? head, body: bytes };
}

/** The arguments of a tool that stand at its top. */
const groupsOf = ({ parameters, body }: ApiOperation): ReadonlySet<string> =>
  new Set([...parameters.map(({ place }) => place), ...(body === undefined ? [] : ['body'])]);

function checkRequired({ parameters, body }: ApiOperation, given: CallArguments): void {
  for (const { place, name, required } of parameters)
    if (required && !isGiven(given.places.get(place)?.get(name)))
      throw new ArgumentError(`${place}: ${name} is required`);
  for (const [place, values] of given.places)
    for (const [name, value] of values) {
      const parameter = parameters.find((one) => one.place === place && one.name === name);
      if (parameter === undefined)
        throw new ArgumentError(`${place}: the tool has no argument ${JSON.stringify(name)}`);
      checkType(parameter, value);
    }
  if (body?.required === true && given.body === undefined) throw new ArgumentError('body is required');
}

/**
 * A request has the same text for `7` and `"7"`, and a rule has judged the value that was given.
 * @throws ArgumentError for a value of another type than the description says
 */
function checkType({ place, name, types }: ApiParameter, value: unknown): void {
  if (types === undefined || !isGiven(value)) return;
  const type = typeOf(value);
  if (types.includes(type) || (type === 'integer' && types.includes('number'))) return;
  throw new ArgumentError(`${place}: ${name} must be ${types.join(' or ')}, and is ${type}`);
}

/** @throws ArgumentError for an object whose members would be other arguments */
function checkValues({ parameters }: ApiOperation, place: ParameterPlace, values: Values): void {
  const own = parameters.filter((one) => one.place === place);
  checkMembers(
    place,
    own.map((form) => ({ name: form.name, value: values.get(form.name), form })),
    own.map(({ name }) => name),
  );
}

const splitOnce = (text: string, at: string): readonly string[] => {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
};

/** The names of credentials at a place, also of those that this request lacks: no argument stands in for one. */
const credentialsAt = ({ credentials = [] }: Reach, kind: 'header' | 'cookie' | 'query'): readonly string[] =>
  credentials.flatMap(({ place }) => (place?.kind === kind ? [place.name] : []));

/** Methods whose requests say that they have no body (RFC 9110 §8.6). */
const bodied: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

function headerLines(
  operation: ApiOperation,
  reach: Reach,
  headers: Values,
  cookies: Values,
  body: WrittenBody | undefined,
): readonly HeaderLine[] {
  const policies = reach.headers.filter(([name]) => !framingFields.has(name) && name !== 'cookie');
  const ofPolicies = new Set([...namesOf(policies), ...credentialsAt(reach, 'header')]);
  const own = argumentLines(operation, headers).filter(([name]) => !ofPolicies.has(name));
  const taken = new Set([...ofPolicies, ...namesOf(own)]);
  const ownCookies = reach.headers.filter(([name]) => name === 'cookie').map(([, value]) => value);
  const cookie = cookieText(ownCookies.join('; '), operation, cookies, credentialsAt(reach, 'cookie'));
  const hasLength = body !== undefined || bodied.has(operation.method);
  return [
    ['host', reach.authority ?? authorityOf(reach.destination.target)],
    ['accept-encoding', 'identity'],
    ...(body === undefined ? [] : [['content-type', body.type] as const]),
    ...(hasLength ? [['content-length', String(body?.bytes.length ?? 0)] as const] : []),
    ...defaults.filter(([name]) => !taken.has(name)),
    ...own,
    ...(cookie === '' ? [] : [['cookie', cookie] as const]),
    ...policies,
  ];
}

const defaults: readonly HeaderLine[] = [
  ['user-agent', 'portcullis'],
  ['accept', 'application/json, */*;q=0.8'],
];

const namesOf = (lines: readonly HeaderLine[]): ReadonlySet<string> => new Set(lines.map(([name]) => name));

function argumentLines({ parameters }: ApiOperation, values: Values): readonly HeaderLine[] {
  return parameters
    .filter(({ place, name }) => place === 'header' && isGiven(values.get(name)))
    .map(({ name, style, explode }): HeaderLine => {
      const value = values.get(name);
      const text = style === 'json' ? JSON.stringify(value) : simpleText(value, explode, (one) => one);
      // A line break would begin another field.
      if (!/^[\x20-\x7e]*$/.test(text))
        throw new ArgumentError(`header: ${name} can only hold visible ASCII characters and spaces`);
      // Servers do not see them, and a rule would judge another value than they do.
      if (text !== text.trim()) throw new ArgumentError(`header: ${name} begins or ends with a space`);
      return [name.toLowerCase(), text];
    });
}
