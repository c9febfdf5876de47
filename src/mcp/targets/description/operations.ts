import type { ApiOperation, OperationChoice } from '../../../model/index.ts';
import { answerSchema } from './answers.ts';
import { annotationsOf, textsOf } from './annotations.ts';
import { Chooser } from './operationChoice.ts';
import { DescriptionError, isObject, type JsonObject } from './descriptionText.ts';
import { keyOf, places, readParameters, type ReadParameter } from './parameters.ts';
import { readTemplate } from './pathTemplate.ts';
import type { References } from './references.ts';
import { readBody, type ReadBody } from './requestBody.ts';
import { SchemaBudget, SchemaWriter, type SchemaSettings } from './schemaWriter.ts';
import { serverPath } from './servers.ts';
import { toolName } from './toolNames.ts';

/** Methods of operations (OpenAPI, "Path Item Object"). */
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

/** Tools beyond this many are of no use to any client. */
const maxOperations = 2_000;

/** An operation where it stands, before it is read. */
interface Found {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

export interface OperationTools {
  readonly document: JsonObject;
  readonly references: References;
  readonly dialect: SchemaSettings['dialect'];
  readonly warn: (message: string) => void;
}

/**
 * The chosen operations of a description.
 * @throws DescriptionError
 */
export function readOperations(choice: OperationChoice, tools: OperationTools): readonly ApiOperation[] {
  const chooser = new Chooser(choice);
  const found = [...eachOperation(tools)].filter(({ method, path, name, operation }) =>
    chooser.takes({ path, tags: tagsOf(operation), names: namesOf(operation, method, path, name) }),
  );
  for (const entry of chooser.idle) tools.warn(`${entry} chooses no operation`);
  if (found.length > maxOperations)
    throw new DescriptionError(
      `has ${found.length} operations, and at most ${maxOperations} can be served: choose some with \`include\``,
    );
  checkNames(found);
  const budget = new SchemaBudget();
  return found.map((one) => {
    try {
      return readOperation(one, tools, budget, choice.outputSchemas !== false);
    } catch (error) {
      if (!(error instanceof DescriptionError)) throw error;
      throw new DescriptionError(`${one.method} ${one.path}: ${error.message}`);
    }
  });
}

function* eachOperation({ document, references, warn }: OperationTools): Iterable<Found> {
  const { paths } = document;
  if (!isObject(paths)) throw new DescriptionError('has no `paths`');
  for (const [path, given] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    const item = references.follow(given, path);
    // It would send the credentials of the gateway back to the caller.
    if (item['trace'] !== undefined) warn(`TRACE ${path} is left out: its answer would repeat credentials`);
    for (const method of methods) {
      const operation = item[method];
      if (operation === undefined) continue;
      if (!isObject(operation)) throw new DescriptionError(`${method.toUpperCase()} ${path} is no object`);
      const name = toolName(operation['operationId'], method, path);
      yield { method: method.toUpperCase(), path, name, item, operation };
    }
  }
}

const tagsOf = ({ tags }: JsonObject): readonly string[] =>
  Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];

const namesOf = (
  { operationId }: JsonObject,
  method: string,
  path: string,
  name: string,
): readonly string[] => [
  name,
  `${method} ${path}`,
  ...(typeof operationId === 'string' ? [operationId] : []),
];

function checkNames(found: readonly Found[]): void {
  const known = new Map<string, Found>();
  for (const one of found) {
    const other = known.get(one.name);
    if (other !== undefined)
      throw new DescriptionError(
        `${other.method} ${other.path} and ${one.method} ${one.path} would both be the tool ${one.name}: give them other operationIds, or exclude one`,
      );
    known.set(one.name, one);
  }
}

function readOperation(
  { method, path: written, name, item, operation }: Found,
  tools: OperationTools,
  budget: SchemaBudget,
  promises: boolean,
): ApiOperation {
  const { document, references, dialect } = tools;
  const warn = (message: string): void => tools.warn(`${method} ${written}: ${message}`);
  const body = readBody(operation['requestBody'], references);
  const base64 = body?.body.form === 'multipart' || body?.body.form === 'bytes';
  const settings = { references, dialect, budget } as const;
  const writer = new SchemaWriter({ ...settings, use: 'request' }, base64);
  const credentials = credentialsOf(document, references);
  const lists = [item['parameters'], operation['parameters']];
  const all = readParameters(lists, { references, writer, credentials, warn });
  const { path, names } = readTemplate(written);
  const parameters = all.filter(({ parameter }) => {
    if (parameter.place !== 'path' || names.includes(parameter.name)) return true;
    warn(`the path parameter ${parameter.name} is left out: the path does not name it`);
    return false;
  });
  for (const one of names)
    if (!parameters.some(({ parameter }) => parameter.place === 'path' && parameter.name === one))
      throw new DescriptionError(`the path names {${one}}, and there is no path parameter of this name`);
  const ofAnswer = new SchemaWriter({ ...settings, use: 'response' });
  const answer = promises ? answerSchema(operation['responses'], references, ofAnswer) : undefined;
  const annotations = annotationsOf(method);
  return {
    tool: {
      name,
      ...textsOf(operation, item, method, written),
      inputSchema: inputSchema(parameters, body, writer),
      ...(answer === undefined ? {} : { outputSchema: answer }),
      annotations,
    },
    method,
    serverPath: serverPath([operation['servers'], item['servers'], document['servers']]),
    path,
    parameters: parameters.map(({ parameter }) => parameter),
    ...(body === undefined ? {} : { body: body.body }),
    promisesObject: answer !== undefined,
  };
}

/** The arguments of a tool: an object for each place of parameters, and the body. */
function inputSchema(
  parameters: readonly ReadParameter[],
  body: ReadBody | undefined,
  writer: SchemaWriter,
): JsonObject {
  const groups = places.flatMap((place) => {
    const own = parameters.filter(({ parameter }) => parameter.place === place);
    if (own.length === 0) return [];
    const required = own.filter((one) => one.parameter.required).map((one) => one.parameter.name);
    const properties = Object.fromEntries(own.map((one) => [one.parameter.name, one.schema]));
    const schema = {
      type: 'object',
      properties,
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
    return [{ name: place as string, schema: schema as JsonObject, required: required.length > 0 }];
  });
  if (body !== undefined) {
    const written = writer.write(body.schema);
    const own = typeof written === 'boolean' ? {} : written;
    const schema = body.description === undefined ? own : { ...own, description: body.description };
    groups.push({ name: 'body', schema, required: body.body.required });
  }
  const required = groups.filter((group) => group.required).map(({ name }) => name);
  const definitions = writer.definitions();
  return {
    type: 'object',
    properties: Object.fromEntries(groups.map(({ name, schema }) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(definitions === undefined ? {} : { $defs: definitions }),
  };
}

/** The parameters that security schemes describe. */
function credentialsOf({ components }: JsonObject, references: References): ReadonlySet<string> {
  const schemes =
    isObject(components) && isObject(components['securitySchemes']) ? components['securitySchemes'] : {};
  const found = new Set<string>();
  for (const [name, given] of Object.entries(schemes)) {
    const { type, in: where, name: parameter } = references.follow(given, `the security scheme ${name}`);
    const place = places.find((one) => one === where);
    if (type === 'apiKey' && place !== undefined && typeof parameter === 'string')
      found.add(keyOf(place, parameter));
  }
  return found;
}
