// *Load a file*: the page fetches its bundle when a person opens it.
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Opened = { View: FunctionComponent } | { problem: string };

export function LoadFile() {
  const [opened, setOpened] = useState<Opened>();
  useEffect(() => {
    // After an upgrade of the gateway, the file that this page names is gone.
    import('../load/view/load-file.tsx').then(
      ({ LoadFile: View }) => setOpened({ View }),
      () => setOpened({ problem: 'This view did not load: load the page again.' }),
    );
  }, []);
  return (
    <>
      <h1 tabIndex={-1}>Load a file</h1>
      {opened !== undefined && ('View' in opened ? <opened.View /> : <p class="problem">{opened.problem}</p>)}
    </>
  );
}
