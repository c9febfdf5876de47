import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIssuer } from '../test/support/issuer.ts';
import type { BenchArguments } from './arguments.ts';
import { startPortcullis as startHttp } from './http/candidates.ts';
import { measure as measureHttp } from './http/measure.ts';
import { openSetting } from './http/setting.ts';
import { workloads } from './http/workloads.ts';
import { startPortcullis as startMcp } from './mcp/candidates.ts';
import { measure as measureMcp } from './mcp/measure.ts';

/** Loads portcullis alone and lets Node write CPU profiles; returns their paths, which stay after the run. */
export async function profile(
  args: BenchArguments,
  directory: string,
  cores: readonly [number, number],
): Promise<string[]> {
  const output = mkdtempSync(join(tmpdir(), 'portcullis-profile-'));
  const options = ['--cpu-prof', `--cpu-prof-dir=${output}`];
  if (args.parts.includes('http')) {
    const setting = await openSetting(directory, cores);
    const running = await startHttp(setting, 'portcullis', options);
    for (const workload of workloads) {
      if (!(args.workloads ?? ['get']).includes(workload.name)) continue;
      const sample = await measureHttp(running, workload, cores[1], args.seconds);
      console.log(`${workload.title}: ${sample.cpuPerRequest.toFixed(1)} us/request under the profiler`);
    }
    await running.program.stop();
    await setting.close();
  }
  if (args.parts.includes('mcp')) {
    const issuer = await startIssuer();
    const token = await issuer.token({ aud: 'api://bench', groups: ['benchers'] });
    const running = await startMcp(
      { directory, issuer, token, gatewayCore: cores[0], serverCore: cores[0] },
      options,
    );
    const sample = await measureMcp(running, cores[1], args.seconds);
    console.log(`tools/call: ${sample.gatewayCpuPerCall.toFixed(1)} us/call under the profiler`);
    await running.program.stop();
    await issuer.close();
  }
  return readdirSync(output).map((name) => join(output, name));
}
