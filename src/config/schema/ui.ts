import { policyNames, policySchemas } from '../../policies/facts.ts';
import { fields } from '../../schema/index.ts';
import { policyFields } from './policies.ts';
import { gatewayRefs } from './route.ts';

/** Policies that prove who a caller is: the console is for nobody else. */
export const consoleLogins: readonly string[] = [
  policyNames.oidc,
  policyNames.jwtAuth,
  policyNames.basicAuth,
  policyNames.apiKey,
];

const allowed: ReadonlySet<string> = new Set([...consoleLogins, policyNames.authorization]);

const policies = fields(
  Object.fromEntries(Object.entries(policyFields('route')).filter(([name]) => allowed.has(name))),
  // Pages of other origins cannot use the console.
  [policyNames.cors, policyNames.csrf, 'extAuthz'],
).superRefine((given, context) => {
  if (consoleLogins.some((name) => (given as Readonly<Record<string, unknown>>)[name] !== undefined)) return;
  context.addIssue({
    code: 'custom',
    message: `the console needs callers that are authenticated: expected ${consoleLogins.join(', ')}`,
  });
});

/** Rules without an `allow` or a `require` would make every caller an operator. */
const operators = policySchemas.authorization
  .superRefine(({ rules }, context) => {
    if (rules.some((rule) => rule?.effect === 'allow' || rule?.effect === 'require')) return;
    context.addIssue({ code: 'custom', path: ['rules'], message: 'expected a rule with allow or require' });
  })
  .meta({
    description:
      'Rules that make a caller an operator, who may change something. All other callers are viewers.',
  });

/** The console on ports of the data plane. */
export const ui = fields({
  gateways: gatewayRefs
    .optional()
    .describe('Gateways, as name or name/listener, that serve the console; only the admin port by default.'),
  policies: policies
    .optional()
    .describe('How callers of the console are authenticated. Required with `gateways`.'),
  operators: operators.optional(),
}).superRefine(({ gateways, policies: given, operators: rules }, context) => {
  const attached = gateways !== undefined && gateways.length > 0;
  if (attached && given === undefined)
    context.addIssue({
      code: 'custom',
      path: ['gateways'],
      message: `the console needs callers that are authenticated: add policies with ${consoleLogins.join(', ')}`,
    });
  for (const [name, value] of Object.entries({ policies: given, operators: rules }))
    if (!attached && value !== undefined)
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'belongs to a console on `gateways`, which is missing',
      });
});
