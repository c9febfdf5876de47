import { z } from 'zod';
import { parseDuration, type StdioTarget } from '../../../model/index.ts';
import { byName, crdRules, podResources } from '../../../schema/index.ts';
import { clusterText, differ, objectName } from '../kind/clusterFields.ts';
import { clusterForm, type Made } from '../kind/clusterTarget.ts';
import { scopeHelp, startTimeoutMs } from './fileForm.ts';

const variable = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
    value: clusterText(32_768).optional(),
    valueFrom: z
      .strictObject({
        secretKeyRef: z
          .strictObject({ name: objectName, key: z.string().min(1).max(253) })
          .describe(
            'A Secret of the same namespace, with the label portcullis.dev/use: mcp-env; others are not read.',
          ),
      })
      .optional(),
  })
  .refine(
    ({ value, valueFrom }) => (value === undefined) !== (valueFrom === undefined),
    'either value or valueFrom is needed',
  )
  .meta(
    crdRules({
      rule: 'has(self.value) != has(self.valueFrom)',
      message: 'either value or valueFrom is needed',
    }),
  );

const noTime = 'a length of time above zero is needed';

const contradiction = 'stateless contradicts resume: false';
const ofPods = 'image and resources go with placement Pod only';
const ofProxies = 'scope shared goes with placement Proxy only';

const schema = z
  .strictObject({
    command: clusterText(4_096)
      .min(1)
      .describe('Program to start, found along PATH of the image that it runs in.'),
    args: z.array(clusterText(32_768)).max(256).optional().describe('Its arguments; no shell reads them.'),
    env: z
      .array(variable)
      .max(256)
      .refine(differ, 'a variable is set once')
      .meta(byName)
      .optional()
      .describe('Environment variables to add or replace.'),
    cwd: clusterText(4_096).min(1).optional().describe('Working directory; that of the proxy unless given.'),
    startTimeout: z
      .string()
      .max(24)
      .regex(/^([0-9]{1,4}(m|s|ms)){1,3}$/)
      .refine((given) => (parseDuration(given) ?? 0) > 0, noTime)
      .meta(crdRules({ rule: "!self.matches('^(0+(m|s|ms))+$')", message: noTime }))
      .optional()
      .describe('From the start of the program to its answer to initialize; 60s unless given.'),
    resume: z
      .boolean()
      .optional()
      .describe(
        'Start the program again for a session whose child was taken to make room for others. True unless given; false: the session ends.',
      ),
    stateless: z
      .boolean()
      .optional()
      .describe(
        'The program keeps no state of its own: any proxy of the Gateway may go on with a session, with a new child. False unless given.',
      ),
    scope: z.enum(['session', 'shared']).optional().describe(scopeHelp),
    placement: z
      .enum(['Proxy', 'Pod'])
      .optional()
      .describe(
        'Where it runs: in the pods of the Gateway, or in one of its own in the namespace of the McpBackend. Proxy unless given.',
      ),
    image: z
      .string()
      .min(1)
      .max(1_024)
      .optional()
      .describe(
        'Of its own pod: the image of the gateway, and the program in it. That of the controller unless given.',
      ),
    resources: podResources.optional().describe('Of its own pod, instead of the usual ones.'),
  })
  .refine(
    ({ placement, image, resources }) =>
      placement === 'Pod' || (image === undefined && resources === undefined),
    ofPods,
  )
  .refine(({ resume, stateless }) => resume !== false || stateless !== true, contradiction)
  .refine(({ placement, scope }) => placement !== 'Pod' || scope !== 'shared', ofProxies)
  .meta(
    crdRules(
      {
        rule: "(has(self.placement) && self.placement == 'Pod') || !(has(self.image) || has(self.resources))",
        message: ofPods,
      },
      {
        rule: "!(has(self.placement) && self.placement == 'Pod' && has(self.scope) && self.scope == 'shared')",
        message: ofProxies,
      },
      {
        rule: '!(has(self.resume) && !self.resume && has(self.stateless) && self.stateless)',
        message: contradiction,
      },
    ),
  )
  .describe(
    'A program that speaks over stdin and stdout, started for each session in the pods of the Gateway, or in one of its own. PortcullisParameters of the Gateway have to allow it (spec.mcp.stdio, spec.mcp.pods).',
  );

/** A program of an McpBackend. */
export const stdioInCluster = clusterForm({
  field: 'stdio',
  schema,
  right: {
    name: 'stdio',
    description:
      'Namespaces whose McpBackends may start programs in the proxies: none, that of the Gateway, or all. They can read all that the proxies can, keys of listeners among it. None unless given.',
    lacking: 'StdioNotAllowed',
  },
  pod: {
    right: {
      name: 'pods',
      description:
        'Namespaces whose McpBackends may have programs run in pods of their own, which are made there: none, that of the Gateway, or all. All counts in the parameters of a GatewayClass only. None unless given.',
      lacking: 'PodNotAllowed',
      // Pods are made where the McpBackend is: who owns a Gateway has no say in the namespaces of others.
      byClass: true,
    },
    wish: ({ placement, image, resources }) => (placement === 'Pod' ? { image, resources } : undefined),
  },
  build: (name, settings, tools): Made<StdioTarget> => {
    const { command, args = [], env: variables, cwd, startTimeout, resume, stateless, scope } = settings;
    const found = tools.environment(variables);
    if ('why' in found) return found;
    return {
      kind: 'stdio',
      name,
      cmd: command,
      args,
      env: found.env,
      clearEnv: false,
      ...(cwd === undefined ? {} : { cwd }),
      startTimeoutMs: (startTimeout && parseDuration(startTimeout)) || startTimeoutMs,
      ...(resume === false ? { resume } : {}),
      ...(stateless === true ? { stateless } : {}),
      ...(scope === 'shared' ? { scope } : {}),
    };
  },
});
