// Splits a file into lines as it arrives. However long a line is, no more than a record is held in memory.

/** The most bytes that one record may have. */
export const LONGEST_RECORD = 2 ** 20;

/** The problem with a line that has more. */
export const TOO_LONG = `has more than ${LONGEST_RECORD} bytes`;

/** Blocks of whole lines; undefined for each line that is longer than a record may be. */
export async function* wholeLines(source: AsyncIterable<Buffer | string>): AsyncIterable<Buffer | undefined> {
  let held: Buffer[] = [];
  let length = 0;
  let isTooLong = false;
  for await (const chunk of source) {
    let bytes = Buffer.from(chunk as string);
    if (isTooLong) {
      const end = bytes.indexOf("\n");
      if (end === -1) continue;
      bytes = bytes.subarray(end + 1);
      isTooLong = false;
    }
    const end = bytes.lastIndexOf("\n") + 1;
    if (end > 0) {
      yield Buffer.concat([...held, bytes.subarray(0, end)]);
      [held, length] = [[], 0];
    }
    held.push(bytes.subarray(end));
    length += bytes.length - end;
    if (length <= LONGEST_RECORD) continue;
    yield undefined;
    [held, length, isTooLong] = [[], 0, true];
  }
  if (length > 0) yield Buffer.concat(held);
}
