import type { ApiOperation, ApiParameter } from '../../../model/index.ts';
import { ArgumentError, type Values } from './callArguments.ts';
import { leavesFolder, templatePieces } from '../description/pathTemplate.ts';
import { readName } from './memberNames.ts';
import {
  encoderOf,
  isGiven,
  labelText,
  matrixText,
  pairsOf,
  percentEncoded,
  simpleText,
  type Pair,
} from './parameterText.ts';

/**
 * The path of a request: the template with the arguments in it. No argument leads out of its place in the path.
 * @throws ArgumentError
 */
export function expandPath({ path, parameters }: ApiOperation, values: Values): string {
  const expanded = templatePieces(path)
    .map((piece) => {
      if ('text' in piece) return piece.text;
      const parameter = parameters.find(({ place, name }) => place === 'path' && name === piece.parameter);
      return parameter === undefined ? '' : pathText(parameter, values.get(parameter.name));
    })
    .join('');
  if (leavesFolder(expanded)) {
    const names = parameters.filter(({ place }) => place === 'path').map(({ name }) => name);
    throw new ArgumentError(
      `path: ${names.join(' or ')} makes a part of the path that is . or .., which is not allowed`,
    );
  }
  return expanded;
}

function pathText(parameter: ApiParameter, value: unknown): string {
  const { name, style, explode } = parameter;
  const encode = encoderOf(parameter);
  const text =
    style === 'label'
      ? labelText(value, explode, encode)
      : style === 'matrix'
        ? matrixText(name, value, explode, encode)
        : style === 'json'
          ? percentEncoded(JSON.stringify(value))
          : simpleText(value, explode, encode);
  if (text === '') throw new ArgumentError(`path: ${name} is empty`);
  return text;
}

/**
 * The query of a request: what the configuration and its policies say first, then the arguments. An argument cannot
 * give a value to a name that stands there already, such as that of a key.
 * @param given the query of the configuration, without its question mark
 * @param credentials names that only policies give a value
 * @throws ArgumentError
 */
export function queryText(
  given: string,
  { parameters }: ApiOperation,
  values: Values,
  credentials: readonly string[] = [],
): string {
  const names = given.split('&').map((pair) => decoded(pair.split('=')[0] ?? ''));
  const taken = new Set([...names, ...credentials].map(readName));
  const pairs = parameters
    .filter(({ place, name }) => place === 'query' && isGiven(values.get(name)))
    .flatMap((parameter) => pairsOf(parameter.name, values.get(parameter.name), parameter))
    .filter(([name]) => !taken.has(readName(decoded(name))));
  return [...(given === '' ? [] : [given]), ...pairs.map(([name, value]) => `${name}=${value}`)].join('&');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/**
 * The cookies of a request; those of policies stand first, and no argument replaces one.
 * @param given the `Cookie` of policies
 * @param credentials names that only policies give a value
 */
export function cookieText(
  given: string,
  { parameters }: ApiOperation,
  values: Values,
  credentials: readonly string[] = [],
): string {
  const names = given.split(';').map((pair) => pair.split('=')[0] ?? '');
  const taken = new Set([...names, ...credentials].map(readName));
  const pairs = parameters
    .filter(({ place, name }) => place === 'cookie' && isGiven(values.get(name)))
    .flatMap((parameter): readonly Pair[] => pairsOf(parameter.name, values.get(parameter.name), parameter))
    .filter(([name]) => !taken.has(readName(decoded(name))));
  return [...(given === '' ? [] : [given]), ...pairs.map(([name, value]) => `${name}=${value}`)].join('; ');
}
