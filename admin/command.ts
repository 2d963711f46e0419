// The commands of the operator's tool: the library's, with one change.
import { Command } from "commander";

/** A command that takes no option as the value of another: in `--label --help`, nobody meant a label. */
export class PlainCommand extends Command {
  override createCommand(name?: string): PlainCommand {
    return new PlainCommand(name);
  }

  override parseOptions(args: string[]): ReturnType<Command["parseOptions"]> {
    for (let place = 0; place < args.length && args[place] !== "--"; place += 1) {
      const option = this.options.find((one) => one.required && [one.long, one.short].includes(args[place]));
      if (!option) continue;
      place += 1;
      const value = args[place];
      if (value?.startsWith("--") || value === "-h") {
        this.error(
          `error: option '${option.flags}' argument missing; if it is ${value}, write ${option.long}=${value}`,
          { code: "commander.optionMissingArgument" },
        );
      }
    }
    return super.parseOptions(args);
  }
}
