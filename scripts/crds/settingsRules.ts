/** Rules of the CRD in CEL, for what the schemas of the policies say by code; what they miss, the controller tells. */
import { crdRules } from '../../src/sources/kube/crdRules.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Rule {
  readonly rule: string;
  readonly message: string;
}

export const oneOf = (...names: readonly string[]): Rule => ({
  rule: `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
  message: `exactly one of ${names.join(', ')} is needed`,
});

const someOf = (...names: readonly string[]): Rule => ({
  rule: names.map((name) => `has(self.${name})`).join(' || '),
  message: `expected ${names.join(' or ')}`,
});

const notBoth = (a: string, b: string): Rule => ({
  rule: `!(has(self.${a}) && has(self.${b}))`,
  message: `${a} and ${b} exclude each other`,
});

const ruleOfRules: readonly Rule[] = [
  oneOf('if', 'allow', 'deny', 'require'),
  { rule: '!has(self.action) || has(self.if)', message: 'action belongs to if' },
];

/** By path from the policy. */
const byPath: Readonly<Record<string, readonly Rule[]>> = {
  'authorization.rules.*': ruleOfRules,
  'mcpAuthorization.rules.*': ruleOfRules,
  'mcpAuthentication.authorization.rules.*': ruleOfRules,
  'mcpAuthentication.provider': [oneOf('auth0', 'keycloak', 'okta')],
  jwtAuth: [
    {
      rule: 'has(self.providers) ? !(has(self.issuer) || has(self.jwks) || has(self.audiences) || has(self.jwtValidationOptions)) : has(self.issuer)',
      message: 'expected issuer, or providers that hold all that is about an issuer',
    },
  ],
  cors: [
    {
      rule: "!(has(self.allowCredentials) && self.allowCredentials) || !((has(self.allowOrigins) && self.allowOrigins.exists(o, o == '*' || o == 'null' || o.endsWith('://*') || o.contains('://*:'))) || (has(self.exposeHeaders) && '*' in self.exposeHeaders))",
      message: 'allowCredentials needs named origins and named headers',
    },
  ],
  backendAuth: [someOf('key', 'credentials', 'passthrough'), notBoth('key', 'passthrough')],
  buffer: [someOf('request', 'response')],
  directResponse: [notBoth('body', 'bodyExpression')],
  sessionPersistence: [
    {
      rule: "!(has(self.type) && self.type == 'Header' && has(self.cookieConfig))",
      message: 'cookieConfig belongs to type: Cookie',
    },
    {
      rule: "!(has(self.cookieConfig) && has(self.cookieConfig.lifetimeType) && self.cookieConfig.lifetimeType == 'Permanent') || has(self.absoluteTimeout)",
      message: 'lifetimeType: Permanent needs absoluteTimeout',
    },
  ],
  'requestRedirect.status': [
    { rule: 'self in [301, 302, 303, 307, 308]', message: 'expected 301, 302, 303, 307 or 308' },
  ],
};

/** By the fields that stand together, wherever they do. */
const byFields: Readonly<Record<string, readonly Rule[]>> = {
  'header,cookie': [oneOf('header', 'cookie')],
  'header,cookie,queryParameter': [oneOf('header', 'cookie', 'queryParameter')],
  'full,prefix': [oneOf('full', 'prefix')],
  'full,host,port': [oneOf('full', 'host', 'port')],
};

/** What is to be said of the place besides. */
export function settingsRules(path: readonly string[], schema: Schema): Schema {
  const fields = Object.keys((schema['properties'] as object | undefined) ?? {}).join();
  const all = [...(byPath[path.join('.')] ?? []), ...(byFields[fields] ?? [])];
  return all.length === 0 ? {} : crdRules(...all);
}
