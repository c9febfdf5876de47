import { Stack, Tabs } from '@mantine/core';
import { useConfigText } from '../api/configuration.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { ValueTree } from '../parts/ValueTree.tsx';
import type { ConfigText } from '../api/types.ts';
import { FieldTree } from './FieldTree.tsx';
import { EditPanel } from './EditPanel.tsx';

/** The YAML in an editor, and the model in use. */
export const ConfigurationPage = () => (
  <Stack gap="md">
    <PageTitle about="The file in an editor, and the configuration in use.">Configuration</PageTitle>
    <Loaded query={useConfigText()} doing="Reading the configuration">
      {(config) => (
        <>
          <div className="quiet wrap">
            Source: <span className="mono">{config.source}</span>
          </div>
          {!config.writable && (
            <Note>
              <p>
                The configuration is read-only here: {config.whyReadOnly ?? 'this session may not change it'}
              </p>
            </Note>
          )}
          <Tabs defaultValue="text">
            <Tabs.List mb="sm">
              <Tabs.Tab value="text">File</Tabs.Tab>
              <Tabs.Tab value="effective">In use</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="text">
              <EditPanel config={config} />
            </Tabs.Panel>
            <Tabs.Panel value="effective">
              <InUse config={config} />
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </Loaded>
  </Stack>
);

/** The fields of the file; the model that the gateway made of it is for questions about the gateway itself. */
const InUse = ({ config: { tree, effective } }: { config: ConfigText }) => (
  <>
    <p className="quiet">
      {tree === null
        ? 'The model that the gateway runs. Secrets are masked.'
        : 'The fields that the gateway runs with, and where each value comes from. Secrets are masked.'}
    </p>
    {tree === null ? (
      <ValueTree value={effective} label="Configuration in use" />
    ) : (
      <>
        <FieldTree fields={tree} />
        <details className="folded">
          <summary>The model that the gateway made of it</summary>
          <ValueTree value={effective} label="Model in use" />
        </details>
      </>
    )}
  </>
);
