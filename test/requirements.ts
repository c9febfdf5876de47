import { apps } from './requirements/apps.ts';
import { celHazards } from './requirements/celHazards.ts';
import { clusterFaults } from './requirements/clusterFaults.ts';
import { configuration } from './requirements/configuration.ts';
import { dataPlaneFaults } from './requirements/dataPlaneFaults.ts';
import { faults } from './requirements/faults.ts';
import { forwarding } from './requirements/forwarding.ts';
import { limitsOfPeers } from './requirements/limits.ts';
import { modelContextProtocol } from './requirements/mcp.ts';
import { mcpApis } from './requirements/mcpApis.ts';
import { mcpRemote } from './requirements/mcpRemote.ts';
import { mcpSse } from './requirements/mcpSse.ts';
import { mcpStdio } from './requirements/mcpStdio.ts';
import { mcpUse } from './requirements/mcpUse.ts';
import { operation } from './requirements/operation.ts';
import { policies } from './requirements/policies.ts';
import type { Requirement } from './requirements/requirement.ts';
import { raw } from './requirements/raw.ts';
import { tokens } from './requirements/tokens.ts';
import { upstream } from './requirements/upstream.ts';
import { wire } from './requirements/wire.ts';

/** Every behaviour that a standard or a decision of ours demands, with the test that proves it. */
export const requirements: readonly Requirement[] = [
  ...configuration,
  ...wire,
  ...raw,
  ...forwarding,
  ...upstream,
  ...limitsOfPeers,
  ...tokens,
  ...policies,
  ...celHazards,
  ...modelContextProtocol,
  ...mcpStdio,
  ...mcpSse,
  ...mcpRemote,
  ...mcpApis,
  ...mcpUse,
  ...operation,
  ...faults,
  ...dataPlaneFaults,
  ...clusterFaults,
  ...apps,
];
