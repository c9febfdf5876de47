/** The shapes of the admin API, from the code of the gateway; nothing of that code is in the build. */

import type {
  BindState,
  BrokenRoute,
  CertificateState,
  ConfigState,
  KeySetState,
  Readiness,
  WorkerState,
} from '../../../src/admin/contract.ts';
import type { Decision } from '../../../src/proxy/contract.ts';
import type { AccessRecord } from '../../../src/telemetry/contract.ts';

export type { Decision };

/** A finished request, as the stream of requests has it; a very long one comes without its decision. */
export type RequestRecord = AccessRecord & { readonly decision?: Decision };

export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly problems?: readonly ConfigProblem[];
}

export interface ConfigProblem {
  readonly message: string;
  readonly path: string;
  /** Counts from 1. */
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

export interface Session {
  readonly role: 'operator' | 'viewer';
  readonly canWrite: boolean;
  readonly whyReadOnly?: string;
  readonly writeToken: string;
}

export interface Status {
  readonly version: string;
  readonly readiness: Readiness;
  readonly startedAt: string;
  readonly config: Omit<ConfigState, 'loadedAt'> & { readonly loadedAt: string | null };
  readonly workers: readonly WorkerState[];
  readonly binds: readonly BindState[];
  readonly closedPorts: readonly { readonly port: number; readonly problem: string }[];
  readonly brokenRoutes: readonly BrokenRoute[];
  readonly certificates: readonly (Omit<CertificateState, 'expiresAt'> & {
    readonly expiresAt: string | null;
  })[];
  readonly keySets: readonly KeySetState[];
  readonly rates: {
    readonly requests: number;
    readonly refusals: number;
    readonly errors: number;
    readonly mcpCalls: number;
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
  };
}

export interface RouteView {
  readonly id: string;
  readonly bind: string;
  readonly port: number;
  readonly listener: string;
  readonly hostnames: readonly string[];
  readonly path: string;
  readonly kind: 'mcp' | 'http' | 'tcp';
  readonly targets: readonly string[];
  readonly authentication: {
    readonly kind: string;
    readonly issuers: readonly string[];
    readonly audiences: readonly string[];
    readonly clientScopes: readonly string[];
  } | null;
  readonly urls: readonly string[];
}

export interface McpSession {
  readonly label: string;
  readonly route: string;
  readonly subject?: string;
  readonly client: { readonly name: string; readonly version?: string };
  readonly revision: string;
  readonly startedAt: string;
  readonly lastUsedAt: string;
  readonly targets: readonly {
    readonly name: string;
    readonly state: string;
    readonly pid?: number;
    readonly restarts?: number;
  }[];
}

export interface Target {
  readonly route: string;
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly since?: string;
  readonly problem?: string;
  readonly restarts?: number;
  readonly stderr: readonly string[];
  readonly tools?: number;
  readonly prompts?: number;
  readonly resources?: number;
}

export interface AuditLines {
  readonly kept: boolean;
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}
