import { Stack, Tabs } from '@mantine/core';
import { PageTitle } from '../parts/PageTitle.tsx';
import { useParameter } from '../parts/useParameter.ts';
import { AuditPanel } from './AuditPanel.tsx';
import { HealthPanel } from './HealthPanel.tsx';
import { RequestsPanel } from './RequestsPanel.tsx';
import { SessionsPanel } from './SessionsPanel.tsx';
import { TargetsPanel } from './TargetsPanel.tsx';

const panels = [
  ['Requests', RequestsPanel],
  ['Sessions', SessionsPanel],
  ['Targets', TargetsPanel],
  ['Audit', AuditPanel],
] as const;

/** Health on top, then live requests, sessions, targets and the audit stream. */
export function TrafficPage() {
  const [tab, setTab] = useParameter('tab', panels[0][0]);
  return (
    <Stack gap="md">
      <PageTitle about="Health of the gateway, live requests, MCP sessions and servers.">Traffic</PageTitle>
      <HealthPanel />
      <Tabs value={tab} onChange={(name) => setTab(name ?? panels[0][0])} keepMounted={false}>
        <Tabs.List mb="sm">
          {panels.map(([name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {panels.map(([name, Panel]) => (
          <Tabs.Panel key={name} value={name}>
            <Panel />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
