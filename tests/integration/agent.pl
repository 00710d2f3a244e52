#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Talks to a guest agent on a Unix socket:  agent.pl SOCKET DEADLINE_S ping
#                                           agent.pl SOCKET DEADLINE_S exec PROGRAM [ARGUMENT...]
# "ping" ends when the agent has answered; "exec" prints the program's output and ends with its
# status.  Status 111 when the deadline passes.

use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
use JSON::PP;
use MIME::Base64;
use Time::HiRes qw(sleep time);

my ($path, $seconds, $what, @command) = @ARGV;
die "usage: agent.pl SOCKET DEADLINE_S ping|exec [COMMAND]\n" unless defined $what;
my $deadline = time + $seconds;

sub late {
	print STDERR "agent.pl: no answer on '$path' after $seconds s\n";
	exit 111;
}

my $socket;
until ($socket = IO::Socket::UNIX->new(Peer => $path)) {
	late() if time > $deadline;
	sleep 0.01;
}

sub call {
	my ($name, %arguments) = @_;
	my $line = '';
	syswrite $socket, encode_json({execute => $name, arguments => \%arguments}) . "\n";
	until ($line =~ /\n/) {
		late() unless IO::Select->new($socket)->can_read($deadline - time);
		sysread $socket, $line, 65536, length $line or late();
	}
	my $answer = decode_json($line);
	die "agent.pl: $name: $answer->{error}{desc}\n" if $answer->{error};
	return $answer->{return};
}

call('guest-sync', id => $$);
exit 0 if $what eq 'ping';

my $program = shift @command;
my $pid = call('guest-exec', path => $program, arg => \@command,
	'capture-output' => JSON::PP::true)->{pid};
my $status;
until (($status = call('guest-exec-status', pid => $pid))->{exited}) {
	late() if time > $deadline;
	sleep 0.02;
}
print decode_base64($status->{'out-data'} // '');
print STDERR decode_base64($status->{'err-data'} // '');
exit(exists $status->{signal} ? 128 + $status->{signal} : $status->{exitcode});
