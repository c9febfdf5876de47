import { hash } from 'node:crypto';
import { z } from 'zod';
import { messageOf } from '../../../errorText.ts';
import type { ApiSource, OpenApiTarget, OperationChoice } from '../../../model/index.ts';
import { crdRules } from '../../../schema/index.ts';
import { describeApi } from '../description/describe.ts';
import { objectName } from '../kind/clusterFields.ts';
import { clusterForm, type ClusterTools, type Made, type Refusal } from '../kind/clusterTarget.ts';
import {
  endpointPath,
  host,
  hostConnection,
  hostsRight,
  service,
  serviceFields,
} from '../kind/remoteInCluster.ts';
import { operationList } from './operationLists.ts';

/** Most bytes of a description in a cluster: its tools are a part of the model, and travel with it. */
const maxDescription = 262_144;

/** The entries of ConfigMaps that hold descriptions, and the most bytes of each. */
export const descriptionEntries = {
  'openapi.yaml': maxDescription,
  'openapi.json': maxDescription,
} as const;

const usualEntry = 'openapi.yaml';

/** A rule that exactly one of the fields is there. */
const exactlyOne = (...names: readonly string[]) => {
  const message = `exactly one of ${names.join(', ')} is needed`;
  return {
    message,
    holds: (value: object): boolean =>
      names.filter((name) => (value as Record<string, unknown>)[name] !== undefined).length === 1,
    rule: {
      rule: `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
      message,
    },
  };
};

/**
 * A host by its name, as `isExternal` has it. Redirects of a description never leave https, so the ports of the operator
 * are out of reach.
 */
const namedHost =
  /^https:\/\/([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]([-a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?([/?][!-~]*)?$/;
const insideHost = /^https:\/\/([^/?:]*\.)?(localhost|svc|cluster\.local)([:/?]|$)|^https:\/\/[^/?:]*\.svc\./;
const noUrl = 'an https URL is needed, with the name of a host outside the cluster';

const isOutside = (url: string): boolean => namedHost.test(url) && !insideHost.test(url) && URL.canParse(url);

/** The scheme and host of an address outside the cluster. */
const namedOrigin = /^https:\/\/([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z]([-a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$/;
const noOrigin = 'an origin is needed, such as https://schemas.example.com, outside the cluster';

const origin = z
  .string()
  .max(263)
  .refine((text) => namedOrigin.test(text) && isOutside(text), noOrigin)
  .meta(
    crdRules({
      rule: `self.matches(r'${namedOrigin.source}') && !self.matches(r'${insideHost.source}') && isURL(self)`,
      message: noOrigin,
    }),
  );

const referencesNeedUrl = 'references to other documents are followed for a description at a url only';

const oneSource = exactlyOne('inline', 'configMap', 'url', 'service');

const description = z
  .strictObject({
    inline: z
      .string()
      .min(1)
      .max(maxDescription)
      .optional()
      .describe('The description itself, as JSON or YAML.'),
    configMap: z
      .strictObject({
        name: objectName,
        key: z.enum(['openapi.yaml', 'openapi.json']).optional().describe(`${usualEntry} unless given.`),
      })
      .optional()
      .describe('An entry of a ConfigMap of the same namespace.'),
    url: z
      .string()
      .min(1)
      .max(2_048)
      .refine(isOutside, noUrl)
      .meta(
        crdRules({
          rule: `self.matches(r'${namedHost.source}') && !self.matches(r'${insideHost.source}') && isURL(self)`,
          message: noUrl,
        }),
      )
      .optional()
      .describe('Fetched by the proxies, and kept fresh. It takes the right to name hosts (spec.mcp.hosts).'),
    service: z
      .strictObject({ ...serviceFields, path: endpointPath })
      .optional()
      .describe('Fetched by the proxies from a Service, without TLS, and kept fresh.'),
  })
  .refine(oneSource.holds, oneSource.message)
  .meta(crdRules(oneSource.rule))
  .describe('The OpenAPI description (3.0 or 3.1) of the API.');

const someOperation = crdRules({
  rule: '(has(self.tags) && self.tags.size() > 0) || (has(self.paths) && self.paths.size() > 0) || (has(self.operations) && self.operations.size() > 0)',
  message: 'tags, paths or operations are needed',
});

const api = { server: 'An HTTP API', usualPath: 'The path of the first server of the description' };
const oneServer = exactlyOne('service', 'host');

const schema = z
  .strictObject({
    service: service(api).optional(),
    host: host(api).optional(),
    schema: description,
    references: z
      .array(origin)
      .min(1)
      .max(16)
      .optional()
      .describe('Origins of other documents to which $ref may lead, for a description at a url.'),
    include: operationList('Only these operations become tools; every operation unless given.')
      .meta(someOperation)
      .optional(),
    exclude: operationList('These operations do not become tools, whatever include says.')
      .meta(someOperation)
      .optional(),
    outputSchemas: z
      .boolean()
      .optional()
      .describe(
        'Tools tell the schema of their answers. True unless given; false for an API whose answers differ from its description.',
      ),
  })
  .refine(oneServer.holds, oneServer.message)
  .refine(({ schema: { url }, references }) => references === undefined || url !== undefined, {
    message: referencesNeedUrl,
    path: ['references'],
  })
  .meta(
    crdRules(oneServer.rule, {
      rule: '!has(self.references) || has(self.schema.url)',
      message: referencesNeedUrl,
    }),
  )
  .describe('An HTTP API with an OpenAPI description, whose operations the gateway serves as tools.');

type Settings = z.output<typeof schema>;

/** An HTTP API of an McpBackend. */
export const openapiInCluster = clusterForm({
  field: 'openapi',
  schema,
  right: hostsRight,
  needsRight: (settings) => settings.host !== undefined || settings.schema.url !== undefined,
  build: (name, settings, tools): Made<OpenApiTarget> => {
    const { path, connection } = serverOf(settings, tools);
    if ('why' in connection) return connection;
    const found = sourceOf(settings, tools);
    if ('why' in found) return found;
    return {
      kind: 'openapi',
      name,
      path: path ?? '/',
      ...connection,
      ...(path === undefined ? { usesServerPath: true } : {}),
      source: found.source,
    };
  },
});

function serverOf({ service: inside, host: outside }: Settings, tools: ClusterTools) {
  if (inside !== undefined) {
    const { path, ...port } = inside;
    return { path, connection: tools.service(port) };
  }
  // The schema sees to it that one of the two is there.
  if (outside === undefined) throw new TypeError('an API without a server passed the schema');
  const { path, ...at } = outside;
  return { path, connection: hostConnection(at, tools) };
}

function sourceOf(settings: Settings, tools: ClusterTools): Made<{ readonly source: ApiSource }> {
  const { inline, configMap, url, service: inside } = settings.schema;
  if (inline !== undefined) return described(settings, inline, 'refused', 'schema.inline');
  if (configMap !== undefined) {
    const { name, key = usualEntry } = configMap;
    const found = tools.entry(name, key);
    return 'why' in found
      ? found
      : described(settings, found.text, 'unresolved', `ConfigMap ${name}: ${key}`);
  }
  const choice = choiceOf(settings);
  if (inside === undefined) {
    const origins = settings.references?.map((one) => new URL(one).origin);
    return { source: { kind: 'url', url: url ?? '', choice, ...(origins && { references: origins }) } };
  }
  const { path, ...port } = inside;
  const found = tools.service(port);
  if ('why' in found) return found;
  if (found.tls !== undefined)
    return refusal('unresolved', 'a description is fetched without TLS only: put it into a ConfigMap');
  return { source: { kind: 'url', url: `http://${found.host}:${found.port}${path}`, choice } };
}

const choiceOf = ({ include, exclude, outputSchemas = true }: Settings): OperationChoice => ({
  ...(include && { include }),
  ...(exclude && { exclude }),
  ...(outputSchemas ? {} : { outputSchemas }),
});

const refusal = (as: Refusal['as'], message: string): Refusal => ({
  as,
  why: { reason: 'InvalidDescription', message },
});

type Found = Made<{ readonly source: ApiSource }>;

/** Reading a description takes long, and an McpBackend is read again after each change of its status. */
const readings = new Map<string, Found>();
const maxReadings = 64;

function described(settings: Settings, text: string, as: Refusal['as'], where: string): Found {
  const choice = choiceOf(settings);
  const key = hash('sha256', JSON.stringify([text, choice, as, where]));
  const found = readings.get(key) ?? read(text, choice, as, where);
  // The newest stands last.
  readings.delete(key);
  readings.set(key, found);
  const [oldest] = readings.keys();
  if (readings.size > maxReadings && oldest !== undefined) readings.delete(oldest);
  return found;
}

function read(text: string, choice: OperationChoice, as: Refusal['as'], where: string): Found {
  try {
    const { api: described, warnings } = describeApi(text, choice);
    return { source: { kind: 'read', api: described, warnings } };
  } catch (error) {
    return refusal(as, `${where}: ${messageOf(error)}`);
  }
}
