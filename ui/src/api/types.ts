/** The shapes of the admin API, from the code of the gateway; nothing of that code is in the build. */

import type { z } from 'zod';
import type { EffectiveField } from '../../../src/admin/contract.ts';
import type * as shapes from '../../../src/admin/api/shapes.ts';
import type { Decision } from '../../../src/proxy/contract.ts';
import type { AccessRecord } from '../../../src/telemetry/contract.ts';

export type { Decision };

/** A finished request, as the stream of requests has it; a very long one comes without its decision. */
export type RequestRecord = AccessRecord & {
  readonly decision?: Decision;
  /** Records that the gateway left out before this one, because there were too many in a second. */
  readonly skippedBefore?: number;
};

export type Session = z.infer<typeof shapes.session>;
export type Status = z.infer<typeof shapes.status>;
export type RouteView = z.infer<typeof shapes.routes>[number];
/** An authorization rule in use. */
export type RuleInUse = z.infer<typeof shapes.rules>[number];
export type McpSession = z.infer<typeof shapes.sessions>[number];
export type Target = z.infer<typeof shapes.targets>[number];
export type AuditLines = z.infer<typeof shapes.auditLines>;
/** A field of the configuration in use. */
export type ConfigField = EffectiveField;
export type ConfigText = Omit<z.infer<typeof shapes.config>, 'tree'> & {
  readonly tree: readonly EffectiveField[] | null;
};
export type CheckedText = z.infer<typeof shapes.configCheck>;
export type ConfigProblem = CheckedText['problems'][number];
/** A request to a route, and its response. */
export type SentRequest = z.input<typeof shapes.playRequest>;
export type GivenAnswer = z.infer<typeof shapes.played>;
/** The value of an expression, or why it has none. */
export type CelAnswer = z.infer<typeof shapes.expressionResult>;
/** Variables and functions of expressions. */
export type ExpressionWords = z.infer<typeof shapes.expressionWords>;
export type Problem = z.infer<typeof shapes.problemDocument>;
/** A login of the playground. */
export type NewLogin = z.input<typeof shapes.newLogin>;
export type BegunLogin = z.infer<typeof shapes.begunLogin>;
export type LoginStep = BegunLogin['steps'][number];
export type LoginState = z.infer<typeof shapes.loginState>;
export type LoginToken = z.infer<typeof shapes.loginToken>;
