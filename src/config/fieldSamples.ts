/**
 * Examples of fields whose kind has none: the name of the field → values that editors offer. A field with another meaning
 * names its own examples in its schema (`samples`).
 */
const samples: Readonly<Record<string, readonly (string | number)[]>> = {
  absoluteTimeout: ['24h'],
  accessKeyId: ['$AWS_ACCESS_KEY_ID'],
  allow: ['mcp.tool.name == "echo"'],
  as: ['find_orders'],
  assertionAudience: ['https://login.example.com/oauth2/token'],
  audience: ['https://orders.example.com'],
  authorizationEndpoint: ['https://login.example.com/oauth2/authorize'],
  backendRequestTimeout: ['2s'],
  backoff: ['50ms'],
  body: ['Down for maintenance.'],
  bodyExpression: ['"Hello " + jwt.sub'],
  cert: ['/etc/portcullis/tls.crt'],
  certificate: ['$CERTIFICATE'],
  claim: ['github_token'],
  client_id: ['11111111-2222-3333-4444-555555555555'],
  client_secret: ['$CLIENT_SECRET'],
  clientId: ['portcullis'],
  clientSampling: ['true', 'source.address.startsWith("10.")'],
  clientSecret: ['$CLIENT_SECRET'],
  cmd: ['npx', 'uvx', '/usr/local/bin/server'],
  condition: ['response.code >= 500'],
  credential: ['$CREDENTIAL'],
  cwd: ['/srv/server'],
  delay: ['200ms'],
  deny: ['mcp.tool.arguments.path.startsWith("/etc")'],
  description: ['Searches the orders of a customer.'],
  discovery: ['/etc/portcullis/discovery.json'],
  duration: ['100ms'],
  exact: ['/mcp'],
  expression: ['jwt.sub'],
  file: ['/etc/portcullis/secret'],
  fillInterval: ['1m'],
  filter: ['response.code >= 400'],
  gateways: ['default'],
  group: ['nogroup'],
  groupsClaim: ['groups'],
  header: ['x-github-token'],
  host: ['app.internal:8000'],
  hostname: ['api.example.com'],
  htpasswd: ['/etc/portcullis/htpasswd'],
  idleTimeout: ['1h'],
  if: ['"engineers" in jwt.groups'],
  inline: ['…'],
  issuer: ['https://login.example.com/realms/staff'],
  jwks: ['/etc/portcullis/jwks.json'],
  key: ['$SECRET_KEY'],
  keyHash: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  kid: ['2026-11'],
  leeway: ['1m'],
  level: ['info', 'debug'],
  maxAge: ['10m'],
  maxBytes: ['1MiB'],
  maxConcurrentCalls: [10],
  maxConnections: [100],
  maxMethodBytes: [64],
  maxRequestsPerConnection: [1000],
  maxTlsVersion: ['TLS_V1_3'],
  maxTokens: [10],
  message: ['Ask the platform team for access.'],
  minTlsVersion: ['TLS_V1_2'],
  name: ['orders'],
  objectId: ['11111111-2222-3333-4444-555555555555'],
  openFiles: [256],
  otlpEndpoint: ['http://collector.internal:4317'],
  password: ['$PASSWORD'],
  path: ['/mcp'],
  pathPrefix: ['/v1'],
  pins: ['/var/lib/portcullis/pins'],
  port: [3000],
  precondition: ['request.method == "GET"'],
  processes: [64],
  randomSampling: [0.01, 'request.path.startsWith("/mcp")'],
  redirectURI: ['https://app.example.com/oidc/callback'],
  region: ['eu-central-1'],
  requestedTokenType: ['urn:ietf:params:oauth:token-type:access_token'],
  requestTimeout: ['10s'],
  require: ['mcp.tool.name != "drop" || "admins" in jwt.groups'],
  resourceId: ['/subscriptions/…/identity'],
  roleArn: ['arn:aws:iam::123456789012:role/agents'],
  root: ['/etc/portcullis/ca.crt'],
  schema: ['/etc/portcullis/openapi.yaml'],
  secretAccessKey: ['$AWS_SECRET_ACCESS_KEY'],
  sessionName: ['portcullis_session'],
  sessionToken: ['$AWS_SESSION_TOKEN'],
  signingKey: ['$SIGNING_KEY'],
  source: ['header'],
  status: [503],
  target: ['orders'],
  tenant_id: ['11111111-2222-3333-4444-555555555555'],
  timeout: ['30s'],
  title: ['Find orders'],
  token: ['$TOKEN'],
  tokenEndpoint: ['https://login.example.com/oauth2/token'],
  tokensPerFill: [10],
  uri: ['orders://open'],
  ttl: ['30s', 'timestamp(extauthz.until)'],
  url: ['https://login.example.com/realms/staff/protocol/openid-connect/certs'],
  user: ['mcp-servers'],
  username: ['gateway'],
  value: ['production'],
  version: ['HTTP/1.1'],
  workerThreads: ['auto', 2],
  zone: ['eu-central-1a'],
};

interface Property {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Property[];
  examples?: readonly unknown[];
}

/** Whether an editor knows a value for a property: a word, a truth value, a default or an example. */
export const hasSample = (property: Property): boolean =>
  property.enum !== undefined ||
  property.const !== undefined ||
  property.default !== undefined ||
  property.examples !== undefined ||
  [property.type].flat().includes('boolean') ||
  (property.anyOf ?? []).some(hasSample);

const isScalar = ({ type, anyOf = [] }: Property): boolean =>
  [type].flat().some((one) => one === 'string' || one === 'number' || one === 'integer') ||
  anyOf.some(isScalar);

/** Gives each property of a JSON Schema that is a text or a number, and that has no example, those of its name. */
export function addSamples(part: unknown): void {
  for (const [name, property] of scalarProperties(part))
    if (!hasSample(property) && samples[name] !== undefined) property.examples = samples[name];
}

/** The properties within a JSON Schema that may be a text or a number, with their names. */
export function* scalarProperties(part: unknown): Generator<readonly [name: string, property: Property]> {
  if (typeof part !== 'object' || part === null) return;
  const { properties } = part as { readonly properties?: Readonly<Record<string, Property>> };
  if (!Array.isArray(part))
    for (const [name, property] of Object.entries(properties ?? {}))
      if (isScalar(property)) yield [name, property];
  for (const inner of Object.values(part)) yield* scalarProperties(inner);
}
