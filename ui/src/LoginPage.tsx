import { Container, Stack, Title } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { CopyText } from './parts/CopyText.tsx';
import { Note } from './parts/Note.tsx';

/** Tells how to get a link that opens a session. */
export function LoginPage() {
  const [query] = useSearchParams();
  return (
    <Container size="sm" py="xl" component="main">
      <Stack>
        <Title order={1} size="h3">
          Open the console
        </Title>
        {query.get('login') === 'refused' && (
          <Note tone="bad">
            <p>The gateway refused the link. A link works once and for a short time.</p>
          </Note>
        )}
        <p>
          If a login of the gateway protects the console, <a href="/ui/">open the console again</a> to log in.
        </p>
        <p>
          On the admin port, the console opens with a link that works once. Run this command on the machine of
          the gateway, as the user who runs the gateway, and open the link that it prints.
        </p>
        <CopyText text="portcullis console" label="the command" />
      </Stack>
    </Container>
  );
}
